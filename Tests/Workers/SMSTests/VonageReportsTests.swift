import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine
import Testing

@testable import SMS

@Suite struct VonageReportsTests {
  private static let secret = "a signature secret"
  private static let apiKey = "abcd1234"

  private func source(_ method: VonageSignature.Method = .sha256) throws -> VonageReports {
    VonageReports(
      signature: VonageSignature(apiKey: Self.apiKey, secret: Secret(Self.secret), method: method),
      table: try ProviderUnderTest.table("vonage"))
  }

  /// The example of Vonage's documentation, with what a signed one has besides.
  private static let example = [
    (name: "err-code", value: "0"), (name: "message-timestamp", value: "2018-10-25 12:10:29"),
    (name: "messageId", value: "0B00000127FDBC63"), (name: "msisdn", value: "447547232824"),
    (name: "network-code", value: "23410"), (name: "price", value: "0.03330000"), (name: "scts", value: "1810251310"),
    (name: "status", value: "delivered"), (name: "to", value: "Nexmo CLI"), (name: "timestamp", value: "1540469429"),
    (name: "nonce", value: "aaaaaaaa-bbbb-cccc-dddd-0123456789ab"),
  ]
  private static let now = UnixTime(seconds: 1_540_469_429)

  private static func signed(
    _ changes: [String: String] = [:], secret: String = secret, method: VonageSignature.Method = .sha256
  ) -> [(name: String, value: String)] {
    var fields = example.map { (name: $0.name, value: changes[$0.name] ?? $0.value) }
    let signature = VonageSignature(apiKey: apiKey, secret: Secret(secret), method: method)
    fields.append((name: "sig", value: signature.code(of: fields)))
    return fields
  }

  private static func query(_ fields: [(name: String, value: String)]) -> HTTPServerRequest {
    HTTPServerRequest(
      method: "GET", target: "/receipts/v/1/c/j?" + String(decoding: FormEncoding.encode(fields), as: UTF8.self))
  }

  private static func posted(_ type: String, _ body: [UInt8], token: String? = nil) -> HTTPServerRequest {
    var headers: HTTPServerHeaders = ["Content-Type": type]
    if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
    return HTTPServerRequest(method: "POST", target: "/receipts/v/1/c/j", headers: headers, body: body)
  }

  private static func json(_ fields: [(name: String, value: String)]) -> [UInt8] {
    Array("{\(fields.map { "\"\($0.name)\": \"\($0.value)\"" }.joined(separator: ", "))}".utf8)
  }

  private static func token(
    _ body: [UInt8], secret: String = secret, issuer: String = "Vonage", apiKey: String = apiKey, age: Int64 = 0,
    hash: String? = nil
  ) throws -> String {
    let claims = """
      {"iat": \(now.seconds - age), "jti": "c5ba8f24-1a14-4c10-bfdf-3fbe8ce511b5", "iss": "\(issuer)",
       "payload_hash": "\(hash ?? Hexadecimal.encode(SHA256.hash(body)))", "api_key": "\(apiKey)"}
      """
    return try JWS.sign(Array(claims.utf8), secret: Array(secret.utf8))
  }

  private func read(_ request: HTTPServerRequest, at now: UnixTime = now) throws(ReportRefusal) -> ReportReading {
    let source: VonageReports
    do { source = try self.source() } catch { preconditionFailure("the table is shipped") }
    return try source.read(request, url: "unused", now: now)
  }

  private static let delivered = ReportReading.end(
    .delivered, reference: "0B00000127FDBC63", reason: nil, at: UnixTime(seconds: 1_540_469_429))

  @Test(
    arguments: [
      (VonageSignature.Method.sha1, "3e19a4e6880fdc2c1426bfd0587c98b9532f0210"),
      (.sha256, "a321e824b9b816be7c3f28859a31749a098713d39f613c80d455bbaffae1cd24"),
      (
        .sha512,
        "812a18f76680fa0fe1b8bd9ee1625466ceb1bd96242e4d050d2cfd9a7b40166c63ed26ec9702168781b6edcf1633db8ff95af934170"
          + "1004eec3fcf9550572ee8"
      ),
    ])
  func `The signatures that Vonage's own libraries are tested with`(method: VonageSignature.Method, expected: String) {
    // vonage-python-sdk, test_signature.py: the secret and these parameters, in whatever order.
    let signature = VonageSignature(apiKey: "", secret: Secret("secret"), method: method)
    let fields = [(name: "timestamp", value: "1461605396"), (name: "b", value: "2"), (name: "a", value: "1")]
    #expect(signature.code(of: fields) == expected)
  }

  @Test func `Separators within a value are signed as underscores`() {
    let signature = VonageSignature(apiKey: "", secret: Secret("s"), method: .sha256)
    #expect(signature.code(of: [(name: "to", value: "a&b=c")]) == signature.code(of: [(name: "to", value: "a_b_c")]))
  }

  @Test func `In the query, as a form, as JSON, as JSON with a token`() throws {
    let fields = Self.signed()
    let unsigned = Self.json(Self.example)
    for request in [
      Self.query(fields),
      Self.posted("application/x-www-form-urlencoded; charset=utf-8", FormEncoding.encode(fields)),
      Self.posted("application/json", Self.json(fields)),
      Self.posted("application/json", unsigned, token: try Self.token(unsigned)),
    ] { #expect(try read(request) == Self.delivered) }
    for method in VonageSignature.Method.allCases {
      let request = Self.query(Self.signed(method: method))
      #expect(try source(method).read(request, url: "", now: Self.now) == Self.delivered)
    }
  }

  @Test func `The Messages API's words, of an account that is set to it`() throws {
    let body = Array(
      #"{"message_uuid":"u-1","to":"447700900000","timestamp":"2018-10-25T12:10:20Z","status":"undeliverable","usage":{"price":"0.1"}}"#
        .utf8)
    let request = Self.posted("application/json", body, token: try Self.token(body))
    guard case .end(.undelivered, "u-1", let reason?, UnixTime(seconds: 1_540_469_420)?) = try read(request) else {
      return #expect(Bool(false), "not read")
    }
    #expect(reason.code == "UNDELIVERABLE")
  }

  @Test(
    arguments: [
      ("failed", "3", "UNKNOWN_NUMBER"), ("failed", "6", "FILTERED"), ("rejected", "9", "OPTED_OUT"),
      ("failed", "1", "UNDELIVERABLE"), ("expired", "99", "UNREACHABLE"), ("rejected", "4711", "BLOCKED"),
    ])
  func `An undelivered SMS has a reason of the contract`(status: String, code: String, expected: String) throws {
    let request = Self.query(Self.signed(["status": status, "err-code": code]))
    guard case .end(.undelivered, _, let reason?, _) = try read(request) else {
      return #expect(Bool(false), "not undelivered")
    }
    #expect(reason.code == expected && reason.providerCode == code)
  }

  @Test(arguments: ["accepted", "buffered", "unknown", "a word of tomorrow"])
  func `On the way is no end`(status: String) throws {
    #expect(try read(Self.query(Self.signed(["status": status]))) == .progress)
  }

  @Test func `Reports that Vonage did not sign for this account are refused`() throws {
    let body = Self.json(Self.example)
    var changed = Self.signed()
    changed[7].value = "failed"
    var added = Self.signed()
    added.append((name: "status", value: "delivered"))
    for request in [
      Self.query(Self.example), Self.query(Self.signed(secret: "guessed")), Self.query(changed), Self.query(added),
      Self.query(Self.signed(method: .sha1)),
      Self.posted("application/json", body),
      Self.posted("application/json", body, token: try Self.token(body, secret: "guessed")),
      Self.posted("application/json", body, token: try Self.token(body, issuer: "Somebody")),
      Self.posted("application/json", body, token: try Self.token(body, apiKey: "another1")),
      Self.posted("application/json", body, token: try Self.token(Array("{}".utf8))),
      Self.posted("application/json", body, token: "a.b.c"),
      // Claims that end the decoder's process, signed.
      Self.posted(
        "application/json", body,
        token: try JWS.sign(Array(repeating: UInt8(ascii: "["), count: 513), secret: Array(Self.secret.utf8))),
      // A token of an empty body says nothing of a query.
      HTTPServerRequest(
        method: "GET", target: "/receipts/v/1/c/j?status=delivered",
        headers: ["Authorization": "Bearer \(try Self.token([]))"]),
    ] { #expect(throws: ReportRefusal.forged) { try read(request) } }
  }

  @Test func `A signature of another time is stale, one of the day that Vonage keeps trying is not`() throws {
    let body = Self.json(Self.example)
    let token = Self.posted("application/json", body, token: try Self.token(body))
    for request in [Self.query(Self.signed()), token] {
      #expect(try read(request, at: Self.now + .seconds(24 * 3600)) == Self.delivered)
      #expect(throws: ReportRefusal.stale) { try read(request, at: Self.now + .seconds(26 * 3600)) }
      #expect(throws: ReportRefusal.stale) { try read(request, at: Self.now - .seconds(60)) }
    }
  }

  @Test func `A body that cannot be read`() throws {
    for body in ["[]", String(repeating: "[", count: 513)] {
      #expect(throws: ReportRefusal.malformed) { try read(Self.posted("application/json", Array(body.utf8))) }
    }
    #expect(throws: ReportRefusal.malformed) { try read(Self.query(Self.signed(["status": ""]))) }
  }
}
