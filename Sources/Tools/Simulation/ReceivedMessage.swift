import CountersignEncoding
import CountersignTelemetry

/// A message that a provider has taken.
struct ReceivedMessage: Sendable, Equatable {
  let to: String
  let from: String?
  let body: String
  let receivedAt: UnixTime
  let provider: Provider
  /// The provider's ID of it: a message SID, a webhook ID.
  let id: String
  /// How often a webhook with this ID came.
  var deliveries = 1

  var json: String {
    """
    {"to":\(JSONString.quote(to)),"from":\(JSONString.quote(from)),"body":\(JSONString.quote(body)),\
    "receivedAt":"\(receivedAt.rfc3339)","provider":"\(provider.rawValue)","id":\(JSONString.quote(id)),\
    "deliveries":\(deliveries)}
    """
  }
}
