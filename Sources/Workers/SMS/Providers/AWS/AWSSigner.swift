import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Signs requests with Signature Version 4
/// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), limited to `POST /`
/// without a query.
struct AWSSigner: Sendable {
  let accessKeyID: String
  let secretKey: Secret
  var sessionToken: Secret?
  let region: String
  var service = "sms-voice"

  func sign(
    _ headers: [(name: String, value: String)], payload: [UInt8], now: UnixTime
  ) -> [(name: String, value: String)] {
    let time = Self.time(now)
    var headers = headers + [(name: "x-amz-date", value: time)]
    if let sessionToken { headers.append((name: "x-amz-security-token", value: sessionToken.reveal())) }
    let sorted = headers.sorted { $0.name < $1.name }
    let names = sorted.map(\.name).joined(separator: ";")
    let canonical =
      "POST\n/\n\n" + sorted.map { "\($0.name):\($0.value)\n" }.joined() + "\n\(names)\n"
      + Hexadecimal.encode(SHA256.hash(payload))
    let day = String(time.prefix(8))
    let scope = "\(day)/\(region)/\(service)/aws4_request"
    let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n" + Hexadecimal.encode(SHA256.hash(Array(canonical.utf8)))
    let signature = Hexadecimal.encode(HMACSHA256.authenticate(Array(text.utf8), key: key(day)))
    headers.append(
      (
        name: "authorization",
        value: "AWS4-HMAC-SHA256 Credential=\(accessKeyID)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
      ))
    return headers
  }

  private func key(_ day: String) -> [UInt8] {
    [day, region, service, "aws4_request"].reduce(Array("AWS4\(secretKey.reveal())".utf8)) { key, part in
      HMACSHA256.authenticate(Array(part.utf8), key: key)
    }
  }

  /// The time as `20150830T123600Z`.
  private static func time(_ now: UnixTime) -> String {
    UnixTime(seconds: now.seconds).rfc3339.filter { $0 != "-" && $0 != ":" }
  }
}
