import CountersignMessages
import CountersignTelemetry

extension OutgoingMessage {
  /// A job that is kept until a queue takes it.
  /// - Parameters:
  ///   - correlationID: the operation.
  ///   - deadline: time after which the job is useless.
  static func job(
    _ type: MessageType, _ name: JobName, correlationID: String, causationID: String?, trace: TraceContext?,
    deadline: UnixTime, body: [UInt8], at now: UnixTime
  ) -> OutgoingMessage {
    OutgoingMessage(
      duty: .kept, exchange: Topology.Exchanges.jobs, routingKey: type.name, type: type.text, messageID: name.text,
      correlationID: correlationID, causationID: causationID, traceparent: trace?.child().traceparent, timestamp: now,
      discardAfter: deadline, body: body)
  }

  /// An event.
  /// - Parameters:
  ///   - id: unique ID: an event of one operation is published once.
  ///   - correlationID: the operation.
  static func event<Body: Event>(
    _ body: Body, id: String, correlationID: String, cause: Envelope?, at now: UnixTime
  ) throws(ContractProblem) -> OutgoingMessage {
    OutgoingMessage(
      duty: .optional, exchange: Topology.Exchanges.events, routingKey: Body.routingKey, type: Body.type.text,
      messageID: id, correlationID: correlationID, causationID: cause?.messageID,
      traceparent: cause?.trace?.child().traceparent, timestamp: now, discardAfter: nil, body: try body.json())
  }
}
