import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

extension OutgoingMessage {
  /// The dead letter of a message that AMQP has no room for. Fields that are too long for AMQP are left out.
  ///
  /// - Parameters:
  ///   - error: the reason it cannot be published.
  ///   - author: the process that gives it up.
  func burial(_ error: AMQPError, by author: Author, at now: UnixTime) -> Publication {
    // A job lies among the dead letters of its queue; a reply or an event has no such queue, and lies with the
    // commands.
    let isJob = exchange == Topology.Exchanges.jobs && Topology.Queues.jobs.contains(routingKey)
    let queue = isJob ? routingKey : Topology.Queues.commands
    var headers: [String: FieldValue] = [
      MessageHeader.deadReason: .string(Self.unpublishable),
      MessageHeader.lastError: .string(MessageHeader.bounded(error.description)),
      MessageHeader.deadQueue: .string(queue),
      MessageHeader.deadAt: .string(now.rfc3339),
    ]
    if let causationID { headers[MessageHeader.causationID] = .string(MessageHeader.bounded(causationID)) }
    let message = Message(
      contentType: Envelope.contentType, headers: headers, isPersistent: true,
      correlationID: correlationID.flatMap(Self.fitting), messageID: Self.fitting(messageID) ?? MessageID.make(),
      timestamp: UInt64(clamping: timestamp.seconds), type: Self.fitting(type), userID: author.userID,
      appID: author.appID,
      body: body.count <= MessageLimits.maxBodyBytes ? body : [])
    return Publication(message: message, exchange: Topology.Exchanges.dead, routingKey: queue)
  }

  /// The reason on the dead letter.
  static let unpublishable = "UNPUBLISHABLE"

  private static func fitting(_ text: String) -> String? {
    text.utf8.count <= MessageLimits.maxShortStringBytes ? text : nil
  }
}
