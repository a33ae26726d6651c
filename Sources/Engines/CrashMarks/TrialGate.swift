import Synchronization

/// Lets a message be worked on while nothing else in the process is, so that a crash has one cause only.
///
/// Work on messages enters and leaves, which costs a lock and no more while there is no trial. A trial waits until all have left and keeps others
/// out. There is one for a process, whatever queues it takes messages from: a process dies as a whole.
public final class TrialGate: Sendable {
  /// That of this process.
  public static let process = TrialGate()

  private struct State {
    /// Messages of queues that are being worked on.
    var inside = 0
    /// Work from outside that is under way.
    var reports = 0
    /// Whether messages of queues wait.
    var isTrial = false
    /// Whether work from outside waits as well.
    var isAlone = false
    var trials: [CheckedContinuation<Void, Never>] = []
    var entrants: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var asides: [Wait] = []
    var quiet: Wait?
  }

  private let state = Mutex(State())

  /// Creates one; processes use ``process``.
  public init() {}

  /// Begins work on so many messages. Suspends while there is a trial.
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

  /// Does work that comes from outside, but not from a queue: a provider's report. It waits while a message is alone, so that a crash it
  /// causes is not counted against that message.
  ///
  /// It does not wait while a trial only waits for messages under way. Providers wait for seconds, so it begins in any case when the patience
  /// is over.
  /// - Parameters:
  ///   - patience: Maximum time to wait; by default the time for which a message is alone at most.
  ///   - body: The work. The process counts as busy until it returns.
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

  /// Ends work on one message, or on what was entered as one.
  public func leave() {
    let quiet = state.withLock { state -> Wait? in
      state.inside -= 1
      guard state.inside == 0, !state.isAlone else { return nil }
      defer { state.quiet = nil }
      return state.quiet
    }
    quiet?.finish(true)
  }

  /// Begins a trial: suspends until the others are over, until all messages have left, and then until work from outside has ended; for each of
  /// the latter two at most as long as the patience lasts.
  ///
  /// - Returns: Whether nothing else is being worked on. If not, no other message is begun all the same.
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

  /// Ends a trial. Whoever waits to enter is let in before the next trial, which waits until they have left: suspects keep nobody
  /// waiting for longer than one trial.
  /// - Parameter goesOn: Whether its message is still being worked on, as one of many now; its end leaves.
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
