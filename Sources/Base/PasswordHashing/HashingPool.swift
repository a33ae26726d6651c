import Dispatch
import Synchronization

/// Threads that hash passwords, apart from Swift's own, with a bound on what waits.
public final class HashingPool: Sendable {
  private struct Job: Sendable {
    let id: UInt64
    let start: @Sendable () -> Void
    let giveUp: @Sendable () -> Void
  }

  private struct State {
    var idle: [DispatchQueue]
    var waiting: [Job] = []
    var nextID: UInt64 = 0
  }

  private enum Admission {
    case start(DispatchQueue)
    case waits
    case full
    case canceled
  }

  private let places: Int
  private let state: Mutex<State>

  /// - Parameters:
  ///   - threads: number of passwords that are hashed at a time, each with its memory.
  ///   - places: maximum number of further ones that wait.
  public init(threads: Int, places: Int) {
    precondition(threads > 0 && places >= 0, "a pool without threads")
    self.places = places
    // A serial queue has a thread of its own while it works, which is not one of Swift's pool.
    state = Mutex(State(idle: (0..<threads).map { DispatchQueue(label: "countersign.hashing.\($0)") }))
  }

  /// Runs work on a thread of the pool, in turn. Canceling the task gives up a place, not work that runs.
  ///
  /// - Throws: ``PasswordHashingError/busy`` at once when all places are taken,
  ///   ``PasswordHashingError/canceled``, or what the work throws.
  public func run<Value: Sendable>(
    _ work: @Sendable @escaping () throws(PasswordHashingError) -> Value
  ) async throws(PasswordHashingError) -> Value {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, PasswordHashingError>, Never>) in
        let job = Job(
          id: id, start: { continuation.resume(returning: Result(catching: work)) },
          giveUp: { continuation.resume(returning: .failure(.canceled)) })
        switch admit(job) {
        case .start(let queue): queue.async { self.work(job, on: queue) }
        case .waits: break
        case .full: continuation.resume(returning: .failure(.busy))
        case .canceled: job.giveUp()
        }
      }
    } onCancel: {
      giveUp(id)
    }
    return try result.get()
  }

  /// Number of pieces of work that wait for a thread.
  public var waiting: Int { state.withLock { $0.waiting.count } }

  private func admit(_ job: Job) -> Admission {
    state.withLock { state in
      // A cancellation before this found no place to give up.
      if Task.isCancelled { return .canceled }
      if let queue = state.idle.popLast() { return .start(queue) }
      guard state.waiting.count < places else { return .full }
      state.waiting.append(job)
      return .waits
    }
  }

  private func work(_ job: Job, on queue: DispatchQueue) {
    job.start()
    let next: Job? = state.withLock { state in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.idle.append(queue)
      return nil
    }
    if let next { queue.async { self.work(next, on: queue) } }
  }

  private func giveUp(_ id: UInt64) {
    let job: Job? = state.withLock { state in
      guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
      return state.waiting.remove(at: index)
    }
    job?.giveUp()
  }
}
