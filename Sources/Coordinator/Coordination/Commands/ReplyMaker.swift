import CountersignMessages
import CountersignTelemetry

/// Makes the reply to a command.
enum ReplyMaker {
  /// - Parameters:
  ///   - queue: the command's `reply_to`.
  ///   - messageID: the command's `message_id`.
  ///   - correlationID: the command's.
  ///   - trace: the trace that the command belongs to.
  static func reply(
    _ answer: CommandAnswer, to queue: String, messageID: String, correlationID: String?, trace: TraceContext?,
    at now: UnixTime
  ) -> OutgoingMessage {
    let id = messageID + suffix
    return OutgoingMessage(
      duty: .reply, exchange: Topology.Exchanges.direct, routingKey: queue, type: answer.type.text,
      messageID: id.utf8.count <= MessageLimits.maxShortStringBytes ? id : MessageID.make(),
      correlationID: correlationID, causationID: messageID, traceparent: trace?.child().traceparent, timestamp: now,
      discardAfter: nil, body: answer.body)
  }

  private static let suffix = ".reply"
}
