import Synchronization

/// Admits a message while nothing else in the process is processed, so that a crash has one cause only.
///
/// Entering and leaving costs a lock while there is no trial. A trial waits until all work has left and keeps further
/// work out. One gate serves the whole process, whatever queues it consumes.
public final class TrialGate: Sendable {
  /// The gate of this process.
  public static let process = TrialGate()

  private struct State {
    var inside = 0
    var reports = 0
    var isTrial = false
    /// Whether work from outside waits as well.
    var isAlone = false
    var trials: [CheckedContinuation<Void, Never>] = []
    var entrants: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var asides: [Wait] = []
    var quiet: Wait?
  }

  private let state = Mutex(State())

  /// Creates a gate of its own. Processes use ``process``.
  public init() {}

  /// Begins work on messages. Suspends while there is a trial.
  public func enter(_ count: Int = 1) async {
    if tryEnter(count) { return }
    await withCheckedContinuation { continuation in
      let isIn = state.withLock { state in
        guard state.isTrial else {
          state.inside += count
          return true
        }
        state.entrants.append((count, continuation))
        return false
      }
      if isIn { continuation.resume() }
    }
  }

  /// Does work that does not come from a queue: a provider's report. It waits while a message is alone, so that a crash
  /// it causes is not counted against that message.
  ///
  /// It does not wait while a trial only waits for messages in progress. Providers wait for seconds, so it begins in
  /// any case when the patience is over.
  /// - Parameters:
  ///   - patience: maximum time to wait; by default the maximum time for which a message is alone.
  ///   - body: the work. The process counts as busy until it returns.
  public func aside<Value: Sendable>(
    patience: Patience = .lasting(CrashMarks.patience), _ body: @Sendable () async -> Value
  ) async -> Value {
    await enterAside(patience)
    defer { leaveAside() }
    return await body()
  }

  private func enterAside(_ patience: Patience) async {
    let wait = state.withLock { state -> Wait? in
      guard state.isAlone else {
        state.reports += 1
        return nil
      }
      let wait = Wait()
      state.asides.append(wait)
      return wait
    }
    guard let wait else { return }
    if await wait.value(patience) { return }
    state.withLock { state in
      state.asides.removeAll { $0 === wait }
      state.reports += 1
    }
  }

  private func leaveAside() {
    let quiet = state.withLock { state -> Wait? in
      state.reports -= 1
      guard state.reports == 0, state.isAlone else { return nil }
      defer { state.quiet = nil }
      return state.quiet
    }
    quiet?.finish(true)
  }

  /// Ends work on one message, or on a group that entered as one.
  public func leave() {
    let quiet = state.withLock { state -> Wait? in
      state.inside -= 1
      guard state.inside == 0, !state.isAlone else { return nil }
      defer { state.quiet = nil }
      return state.quiet
    }
    quiet?.finish(true)
  }

  /// Begins a trial: suspends until the others are over, until all messages have left, and then until work from outside
  /// has ended. For each of the latter two at most as long as the patience lasts.
  func beginTrial(_ patience: Patience) async -> Bool {
    await takeTurn()
    guard await becomesQuiet(patience, { $0.inside == 0 }) else { return false }
    state.withLock { $0.isAlone = true }
    return await becomesQuiet(patience) { $0.reports == 0 }
  }

  private func becomesQuiet(_ patience: Patience, _ isQuiet: @Sendable (State) -> Bool) async -> Bool {
    let wait = state.withLock { state -> Wait? in
      guard !isQuiet(state) else { return nil }
      let wait = Wait()
      state.quiet = wait
      return wait
    }
    guard let wait else { return true }
    let came = await wait.value(patience)
    state.withLock { $0.quiet = nil }
    return came
  }

  /// Ends a trial. Messages that wait to enter are admitted before the next trial, which waits until they have left:
  /// suspects delay no message for longer than one trial.
  func endTrial(goesOn: Bool = false) {
    let woken = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      if goesOn { state.inside += 1 }
      var woken = state.entrants.map(\.continuation)
      for entrant in state.entrants { state.inside += entrant.count }
      state.entrants = []
      // One whose patience has just ended counts itself.
      for wait in state.asides where wait.finish(true) { state.reports += 1 }
      state.asides = []
      state.isAlone = false
      if state.trials.isEmpty { state.isTrial = false } else { woken.append(state.trials.removeFirst()) }
      return woken
    }
    for continuation in woken { continuation.resume() }
  }

  private func tryEnter(_ count: Int) -> Bool {
    state.withLock { state in
      guard !state.isTrial else { return false }
      state.inside += count
      return true
    }
  }

  private func takeTurn() async {
    await withCheckedContinuation { continuation in
      let isMine = state.withLock { state in
        if state.isTrial {
          state.trials.append(continuation)
          return false
        }
        state.isTrial = true
        return true
      }
      if isMine { continuation.resume() }
    }
  }
}
