import CountersignTelemetry

/// A message that the coordinator publishes.
struct OutgoingMessage: Sendable, Hashable {
  /// What happens when nobody takes it.
  enum Duty: UInt8, Sendable {
    /// It is kept and published again until somebody does: a job.
    case kept = 0
    /// Nothing: an event, which may have no listener.
    case optional = 1
    /// Nothing, but it is counted: a reply, whose requester may be gone.
    case reply = 2
  }

  var duty: Duty
  var exchange: String
  var routingKey: String
  /// `sms.dispatch.v1`
  var type: String
  var messageID: String
  var correlationID: String?
  /// The `message_id` of the message that led to this one.
  var causationID: String?
  var traceparent: String?
  var timestamp: UnixTime
  /// After this time nobody needs it, so it is not published again; never, if absent.
  var discardAfter: UnixTime?
  var body: [UInt8]
}
