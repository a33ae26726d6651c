import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine
import Testing

@testable import SMS

@Suite struct MessageBirdReportsTests {
  private static let secret = "a signing key"
  private static let base = "https://sms.example.com"
  private static let now = UnixTime(seconds: 1_462_265_890)
  /// The example of MessageBird's support pages.
  private static let query =
    "id=e8077d803532c0b5937c639b60216938&reference=YouReference123&recipient=31612345678&status=delivered"
    + "&statusDatetime=2016-05-03T08%3A58%3A10%2B00%3A00"

  private func read(
    _ query: String, secret: String = secret, issuer: String = "MessageBird", signedURL: String? = nil,
    lifetime: Double = 60, early: Double? = 0, isUpperCase: Bool = false
  ) throws -> ReportReading {
    let target = "/receipts/m/1/c/j?" + query
    let url = Self.base + target
    let lower = Hexadecimal.encode(SHA256.hash(Array((signedURL ?? url).utf8)))
    let hash = isUpperCase ? lower.uppercased() : lower
    let notBefore = early.map { #""nbf":\#(Double(Self.now.seconds) + $0),"# } ?? ""
    let claims =
      #"{"iss":"\#(issuer)",\#(notBefore)"exp":\#(Double(Self.now.seconds) + lifetime),"jti":"1","url_hash":"\#(hash)"}"#
    let token = try JWS.sign(Array(claims.utf8), secret: Array(secret.utf8))
    let source = MessageBirdReports(
      signature: MessageBirdSignature(signingKey: Secret(Self.secret)),
      table: try ProviderUnderTest.table("messagebird"))
    let request = HTTPServerRequest(method: "GET", target: target, headers: ["MessageBird-Signature-JWT": token])
    return try source.read(request, url: url, now: Self.now)
  }

  @Test(arguments: MessageBirdVector.all)
  func `The requests that MessageBird's own libraries are tested with`(vector: MessageBirdVector) throws {
    let signature = MessageBirdSignature(signingKey: Secret(MessageBirdVector.secret))
    let request = HTTPServerRequest(
      method: "POST", target: "/", headers: ["messagebird-signature-jwt": vector.token],
      body: Array(vector.payload.utf8))
    let refusal: ReportRefusal?
    do throws(ReportRefusal) {
      try signature.check(request, url: vector.url, now: MessageBirdVector.now)
      refusal = nil
    } catch {
      refusal = error
    }
    #expect(refusal == vector.refusal)
  }

  @Test func `The published example says that the message was delivered, and when`() throws {
    #expect(
      try read(Self.query)
        == .end(.delivered, reference: "e8077d803532c0b5937c639b60216938", reason: nil, at: Self.now))
  }

  @Test(
    arguments: [
      ("delivery_failed&statusErrorCode=1", "UNKNOWN_NUMBER"), ("delivery_failed&statusErrorCode=27", "UNREACHABLE"),
      ("delivery_failed&statusErrorCode=4711", "UNDELIVERABLE"), ("delivery_failed", "UNDELIVERABLE"),
      ("expired", "UNREACHABLE"),
    ])
  func `An undelivered SMS has a reason of the contract`(status: String, expected: String) throws {
    guard case .end(.undelivered, "x", let reason?, nil) = try read("id=x&status=" + status) else {
      return #expect(Bool(false), "not undelivered")
    }
    #expect(reason.code == expected)
  }

  @Test(arguments: ["scheduled", "sent", "buffered", "a+word+of+tomorrow"])
  func `On the way is no end`(status: String) throws {
    #expect(try read("id=x&status=" + status) == .progress)
  }

  @Test func `Reports that MessageBird did not sign for this address are refused`() throws {
    #expect(throws: ReportRefusal.forged) { try read(Self.query, secret: "guessed") }
    #expect(throws: ReportRefusal.forged) { try read(Self.query, issuer: "Somebody") }
    #expect(throws: ReportRefusal.forged) {
      try read(
        Self.query, signedURL: Self.base + "/receipts/m/1/c/j?" + Self.query.replacing("delivered", with: "sent"))
    }
    #expect(throws: ReportRefusal.forged) { try read(Self.query, early: nil) }
    #expect(throws: ReportRefusal.forged) { try read(Self.query, isUpperCase: true) }
    #expect(throws: ReportRefusal.forged) { try read(Self.query, lifetime: 1e300) }
    #expect(throws: ReportRefusal.stale) { try read(Self.query, lifetime: -60) }
    #expect(throws: ReportRefusal.stale) { try read(Self.query, lifetime: -1) }
    #expect(throws: ReportRefusal.stale) { try read(Self.query, early: 1.5) }
    // A fraction is allowed.
    #expect(throws: Never.self) { try read(Self.query, lifetime: -0.5, early: 0.75) }
    #expect(throws: ReportRefusal.malformed) { try read("id=x") }
  }
}
