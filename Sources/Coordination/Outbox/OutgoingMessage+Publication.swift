import AMQP
import Messages
import Telemetry

extension OutgoingMessage {
  /// As it is published.
  ///
  /// - Parameter appID: the program that sends it.
  func publication(appID: String) -> Publication {
    let envelope = Envelope(
      type: MessageType(parsing: type) ?? MessageType(type), messageID: messageID, correlationID: correlationID,
      timestamp: timestamp, appID: appID, trace: traceparent.flatMap(TraceContext.init(traceparent:)),
      causationID: causationID)
    return Publication(
      message: envelope.message(body: body), exchange: exchange, routingKey: routingKey, mandatory: duty != .optional)
  }
}
