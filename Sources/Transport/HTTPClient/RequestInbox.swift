import CountersignConcurrency
import Synchronization

struct RequestSubmission: Sendable {
  let id: UInt64
  let request: HTTPRequest
  let continuation: CheckedContinuation<Result<HTTPResponse, TransportError>, Never>
  /// In nanoseconds of the monotonic clock.
  let deadline: UInt64
}

/// Requests and cancellations that callers on any thread leave for the loop, with a bound on unanswered requests.
final class RequestInbox: Sendable {
  enum Order: Sendable {
    case send(RequestSubmission)
    case cancel(UInt64)
  }

  private let orders = Inbox<Order>()
  private let maxUnanswered: Int
  private let unanswered = Atomic(0)
  private let lastID = Atomic<UInt64>(0)

  init(maxUnanswered: Int) { self.maxUnanswered = maxUnanswered }

  func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

  func submit(_ submission: RequestSubmission) -> Result<Bool, TransportError> {
    guard unanswered.add(1, ordering: .relaxed).oldValue < maxUnanswered else {
      recordAnswer()
      return .failure(orders.isClosed ? .closed : .overloaded)
    }
    switch orders.add(.send(submission)) {
    case .wake: return .success(true)
    case .awake: return .success(false)
    case .closed:
      recordAnswer()
      return .failure(.closed)
    }
  }

  /// The loop ignores an unknown ID.
  func cancel(_ id: UInt64) -> Bool { orders.add(.cancel(id)) == .wake }

  /// Loop only, oldest first.
  func takeAll() -> [Order] { orders.takeAll() }

  /// Loop only.
  func recordAnswer() { unanswered.subtract(1, ordering: .relaxed) }

  func close() -> [Order] {
    orders.close()
    return orders.takeAll()
  }
}
