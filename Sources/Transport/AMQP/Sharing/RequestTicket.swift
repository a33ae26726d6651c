import CountersignConcurrency

/// One request: the message that is sent, and the task that waits for the reply.
final class RequestTicket: Sendable {
  let publication: Publication
  let correlationID: String
  private let decision = OneShot<Result<Message, AMQPError>>()

  init(_ publication: Publication, correlationID: String) {
    self.publication = publication
    self.correlationID = correlationID
  }

  /// Whether the wait is over.
  var isDecided: Bool { decision.isResolved }

  func succeed(_ reply: Message) { decision.resolve(.success(reply)) }
  func fail(_ error: AMQPError) { decision.resolve(.failure(error)) }

  /// Waits for the decision. One task only.
  func wait() async throws(AMQPError) -> Message {
    let result = await withTaskCancellationHandler {
      await decision.value()
    } onCancel: {
      fail(AMQPError(.canceled, "the task that made the request was canceled"))
    }
    return try result.get()
  }
}
