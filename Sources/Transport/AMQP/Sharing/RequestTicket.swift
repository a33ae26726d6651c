internal import Synchronization

/// One request: what is sent, and the task that waits for the reply.
final class RequestTicket: Sendable {
  private typealias Decision = Result<Message, AMQPError>

  private struct State {
    var result: Decision?
    var waiter: CheckedContinuation<Decision, Never>?
  }

  let publication: Publication
  let correlationID: String
  private let state = Mutex(State())

  init(_ publication: Publication, correlationID: String) {
    self.publication = publication
    self.correlationID = correlationID
  }

  /// Whether nobody waits any more.
  var isDecided: Bool { state.withLock { $0.result != nil } }

  func succeed(_ reply: Message) { decide(.success(reply)) }
  func fail(_ error: AMQPError) { decide(.failure(error)) }

  /// Waits for the decision. One task only.
  func wait() async throws(AMQPError) -> Message {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result = state.withLock { state in
          if state.result == nil { state.waiter = continuation }
          return state.result
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      fail(AMQPError(.cancelled, "the task that asked was cancelled"))
    }
    return try result.get()
  }

  private func decide(_ result: Decision) {
    let waiter = state.withLock { state -> CheckedContinuation<Decision, Never>? in
      guard state.result == nil else { return nil }
      state.result = result
      return state.waiter.take()
    }
    waiter?.resume(returning: result)
  }
}
