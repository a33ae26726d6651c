import CountersignTelemetry

/// A message that the coordinator publishes.
struct OutgoingMessage: Sendable, Hashable {
  /// Consequence when no queue takes the message.
  enum Duty: UInt8, Sendable {
    /// The message is kept and published again until a queue takes it: a job.
    case kept = 0
    /// None: an event, which may have no listener.
    case optional = 1
    /// None, but it is counted: a reply, whose requester may be gone.
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
  /// Time after which it is useless and no longer published; never, if absent.
  var discardAfter: UnixTime?
  var body: [UInt8]
}
