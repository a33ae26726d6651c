import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Checks Signature Version 4 of a whole request
/// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), with the exceptions of
/// https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/CommonErrors.html. Independent of the worker's
/// own signer, which it verifies.
struct AWSSignatureCheck: Sendable {
  static let tolerance = Duration.seconds(300)
  static let service = "sms-voice"
  private static let scheme = "AWS4-HMAC-SHA256"

  let settings: AWSMessagingSettings

  /// Fields of `Authorization`.
  private struct Claim {
    let accessKeyID: String
    let day: String
    let region: String
    let service: String
    let signedHeaders: [String]
    let signature: String

    var scope: String { "\(day)/\(region)/\(service)/aws4_request" }
  }

  func check(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) {
    guard let authorization = request.headers["Authorization"] else {
      throw ProviderError("MissingAuthenticationTokenException", "Missing Authentication Token")
    }
    guard let claim = Self.claim(authorization), let time = request.headers["X-Amz-Date"] else {
      throw Self.incomplete("The request signature does not conform to AWS standards.")
    }
    try checkKey(claim, request)
    try Self.checkTime(time, claim, now)
    guard claim.region == settings.region, claim.service == Self.service else {
      throw Self.invalid("Credential should be scoped to a valid region and to the correct service.")
    }
    try Self.checkHeaders(claim, request)
    guard Secret(sign(request, claim, time)).matches(claim.signature) else {
      throw Self.invalid("The request signature we calculated does not match the signature you provided.")
    }
  }

  private static func incomplete(_ text: String) -> ProviderError {
    ProviderError("IncompleteSignatureException", text)
  }

  private static func invalid(_ text: String) -> ProviderError { ProviderError("InvalidSignatureException", text) }

  private func checkKey(_ claim: Claim, _ request: HTTPServerRequest) throws(ProviderError) {
    let unknown = ProviderError(
      "UnrecognizedClientException", "The security token included in the request is invalid.")
    guard claim.accessKeyID == settings.accessKeyID else { throw unknown }
    switch (settings.sessionToken, request.headers["X-Amz-Security-Token"]) {
    case (nil, nil): break
    case (let token?, let given?) where token.matches(given): break
    case (_?, _?):
      throw ProviderError("ExpiredTokenException", "The security token included in the request is expired.")
    case (nil, _?), (_?, nil): throw unknown
    }
  }

  /// `20150830T123600Z`, on the day of the scope, and close to the current time.
  private static func checkTime(_ text: String, _ claim: Claim, _ now: UnixTime) throws(ProviderError) {
    let parts = Array(text.utf8)
    guard parts.count == 16, text.hasPrefix(claim.day + "T") else {
      throw invalid("Date in Credential scope does not match the date of the request.")
    }
    func digits(_ range: Range<Int>) -> String { String(decoding: parts[range], as: UTF8.self) }
    let written =
      "\(digits(0..<4))-\(digits(4..<6))-\(digits(6..<8))T\(digits(9..<11)):\(digits(11..<13)):\(digits(13..<15))Z"
    guard text.hasSuffix("Z"), let time = UnixTime(rfc3339: written) else {
      throw incomplete("Date must be in ISO-8601 'basic format'.")
    }
    guard time >= now - tolerance else { throw invalid("Signature expired: \(text) is too early.") }
    guard time <= now + tolerance else { throw invalid("Signature not yet current: \(text) is still later.") }
  }

  /// Fields that must be signed: the host, and all header fields that AWS reads.
  private static func checkHeaders(_ claim: Claim, _ request: HTTPServerRequest) throws(ProviderError) {
    let names = Set(request.headers.fields.map { $0.name.lowercased() })
    let required = names.filter { $0 == "host" || $0.hasPrefix("x-amz-") || $0 == "content-type" }
    guard required.isSubset(of: claim.signedHeaders), Set(claim.signedHeaders).isSubset(of: names) else {
      throw invalid("'Host' and all 'X-Amz-' headers must be a 'SignedHeader' in the AWS Authorization.")
    }
    guard claim.signedHeaders == claim.signedHeaders.sorted() else {
      throw incomplete("SignedHeaders must be in order.")
    }
  }

  private func sign(_ request: HTTPServerRequest, _ claim: Claim, _ time: String) -> String {
    let target = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let headers = claim.signedHeaders.map { name in
      let value = request.headers[name] ?? ""
      return "\(name):" + value.split(separator: " ").joined(separator: " ")
    }
    let canonical = [
      request.method, String(target[0]), target.count > 1 ? String(target[1]) : "",
      headers.joined(separator: "\n") + "\n",
      claim.signedHeaders.joined(separator: ";"), Hexadecimal.encode(SHA256.hash(request.body)),
    ].joined(separator: "\n")
    let text = [Self.scheme, time, claim.scope, Hexadecimal.encode(SHA256.hash(Array(canonical.utf8)))]
      .joined(separator: "\n")
    var key = Array("AWS4\(settings.secretKey.reveal())".utf8)
    for part in [claim.day, claim.region, claim.service, "aws4_request"] {
      key = HMACSHA256.authenticate(Array(part.utf8), key: key)
    }
    return Hexadecimal.encode(HMACSHA256.authenticate(Array(text.utf8), key: key))
  }

  private static func claim(_ authorization: String) -> Claim? {
    guard authorization.hasPrefix(scheme + " ") else { return nil }
    var fields: [String: String] = [:]
    for field in authorization.dropFirst(scheme.count + 1).split(separator: ",") {
      let parts = field.split(separator: "=", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      fields[parts[0].filter { $0 != " " }] = String(parts[1])
    }
    guard let credential = fields["Credential"]?.split(separator: "/").map(String.init), credential.count == 5,
      credential[4] == "aws4_request", credential[1].utf8.count == 8, let names = fields["SignedHeaders"],
      let signature = fields["Signature"]
    else { return nil }
    return Claim(
      accessKeyID: credential[0], day: credential[1], region: credential[2], service: credential[3],
      signedHeaders: names.split(separator: ";").map(String.init), signature: signature)
  }
}
