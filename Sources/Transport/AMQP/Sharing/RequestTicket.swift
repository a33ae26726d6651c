import CountersignConcurrency
import Synchronization

final class RequestTicket: Sendable {
  let publication: Publication
  let correlationID: String
  private let decision = OneShot<Result<Message, AMQPError>>()
  private let accepted = Atomic(false)

  init(_ publication: Publication, correlationID: String) {
    self.publication = publication
    self.correlationID = correlationID
  }

  /// Whether a queue has taken the request, on this channel or an earlier one.
  var isAccepted: Bool { accepted.load(ordering: .relaxed) }

  func accept() { accepted.store(true, ordering: .relaxed) }

  var isDecided: Bool { decision.isResolved }

  func succeed(_ reply: Message) { decision.resolve(.success(reply)) }
  func fail(_ error: AMQPError) { decision.resolve(.failure(error)) }

  /// One task only.
  func wait() async throws(AMQPError) -> Message {
    let result = await withTaskCancellationHandler {
      await decision.value()
    } onCancel: {
      fail(AMQPError(.canceled, "the task that made the request was canceled"))
    }
    return try result.get()
  }
}
