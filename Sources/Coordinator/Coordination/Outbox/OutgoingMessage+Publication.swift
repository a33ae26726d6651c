import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

extension OutgoingMessage {
  /// The publication of the message.
  ///
  /// - Parameter author: the sender.
  func publication(by author: Author) -> Publication {
    var envelope = Envelope(
      type: MessageType(parsing: type) ?? MessageType(type), messageID: messageID, correlationID: correlationID,
      timestamp: timestamp, appID: author.appID, userID: author.userID,
      trace: traceparent.flatMap(TraceContext.init(traceparent:)))
    envelope.causationID = causationID
    return Publication(
      message: envelope.message(body: body), exchange: exchange, routingKey: routingKey, mandatory: duty != .optional)
  }
}
