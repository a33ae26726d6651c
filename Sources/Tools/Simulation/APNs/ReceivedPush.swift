import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// A push that APNs has taken.
struct ReceivedPush: Sendable {
  let deviceToken: String
  /// Host and the header fields of APNs, names in lower case; the provider token is not kept.
  let headers: [(name: String, value: String)]
  /// JSON, as it came.
  let payload: String
  let receivedAt: UnixTime

  init(_ request: HTTPServerRequest, deviceToken: String, receivedAt: UnixTime) {
    self.deviceToken = deviceToken
    headers = request.headers.fields.map { (name: $0.name.lowercased(), value: $0.value) }
      .filter { $0.name.hasPrefix("apns-") || $0.name == "host" }
    payload = String(decoding: request.body, as: UTF8.self)
    self.receivedAt = receivedAt
  }

  var json: String {
    let fields = headers.map { "\(JSONString.quote($0.name)):\(JSONString.quote($0.value))" }.joined(separator: ",")
    return """
      {"deviceToken":"\(deviceToken)","headers":{\(fields)},"payload":\(payload),"receivedAt":"\(receivedAt.rfc3339)"}
      """
  }
}
