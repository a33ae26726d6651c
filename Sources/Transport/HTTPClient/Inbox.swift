import Synchronization

/// A request on its way to the loop.
struct Submission: Sendable {
  let id: UInt64
  let request: HTTPRequest
  let continuation: CheckedContinuation<Result<HTTPResponse, TransportError>, Never>
  /// When the total time-out ends, in nanoseconds of the monotonic clock.
  let deadline: UInt64
}

/// What callers on any thread leave for the loop. Many of them cost the loop one wake-up.
final class Inbox: Sendable {
  struct Contents: Sendable {
    var submissions: [Submission] = []
    var cancelled: [UInt64] = []
  }

  private struct State {
    var contents = Contents()
    /// Requests handed in and not answered yet.
    var open = 0
    var isAwake = false
    var isClosed = false
  }

  private let state = Mutex(State())
  private let maxOpen: Int
  private let lastID = Atomic<UInt64>(0)

  init(maxOpen: Int) { self.maxOpen = maxOpen }

  func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

  /// Whether the loop must be woken, or why the request is refused.
  func submit(_ submission: Submission) -> Result<Bool, TransportError> {
    state.withLock { state in
      if state.isClosed { return .failure(.closed) }
      guard state.open < maxOpen else { return .failure(.overloaded) }
      state.open += 1
      state.contents.submissions.append(submission)
      defer { state.isAwake = true }
      return .success(!state.isAwake)
    }
  }

  /// Whether the loop must be woken. An unknown ID is ignored by the loop.
  func cancel(_ id: UInt64) -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      state.contents.cancelled.append(id)
      defer { state.isAwake = true }
      return !state.isAwake
    }
  }

  /// Loop only: everything that was left. What comes later wakes it again.
  func takeAll() -> Contents {
    state.withLock { state in
      defer { state.contents = Contents() }
      state.isAwake = false
      return state.contents
    }
  }

  /// Loop only: that many requests were answered.
  func didAnswer(_ count: Int) {
    state.withLock { $0.open -= count }
  }

  /// Refuses what comes from now on, and returns what was left.
  func close() -> Contents {
    state.withLock { state in
      defer { state.contents = Contents() }
      state.isClosed = true
      return state.contents
    }
  }
}
