import CountersignTelemetry
import JobEngine
import Synchronization

/// The access token of one service account: one for the process, renewed before it expires, by one request for all who need it.
final class AccessTokens: Sendable {
  typealias Answer = Result<AccessToken, AccessTokenFailure>
  /// Asks for the token of that number.
  typealias Source = @Sendable (_ number: Int) async -> Answer

  private struct State {
    var book = AccessTokenBook()
    var asked = 0
    var given = 0
    var waiting: [Int: CheckedContinuation<Answer, Never>] = [:]
    var nextWaiter = 0
    var renewal: Task<Void, Never>?
  }

  private let source: Source
  private let clock: any MonotonicClock
  private let log: Logger
  private let state = Mutex(State())

  /// - Parameters:
  ///   - clock: Tells the age of tokens.
  ///   - log: Says when a token cannot be renewed while the one before is still good; nobody else would.
  ///   - source: Asks Google for a token. It ends by itself.
  init(clock: any MonotonicClock, log: Logger, source: @escaping Source) {
    self.clock = clock
    self.log = log
    self.source = source
  }

  /// How many were got, for metrics.
  var given: Int { state.withLock { $0.given } }
  /// How many requests for one have failed, for metrics.
  var failed: Int { state.withLock { $0.asked - $0.given - ($0.book.isRenewing ? 1 : 0) } }
  /// How many callers wait for one.
  var waiting: Int { state.withLock { $0.waiting.count } }

  /// The token to show now. It is at hand, except for the first time and after a rejection; then all callers wait for the same request.
  /// - Returns: a transient failure for a caller whose task is cancelled meanwhile; the request goes on for the others.
  func current() async -> Answer {
    if let token = atHand() { return .success(token) }
    return await next()
  }

  /// The API does not take a token, though by its age it should: the next caller gets another one. That many say so of the same token costs
  /// one renewal.
  func rejected(_ token: AccessToken) { state.withLock { $0.book.rejected(token) } }

  /// Waits for the request that may be under way; its transport is shut down before.
  func shutdown() async { await state.withLock { $0.renewal }?.value }

  /// The token, when there is one. Who finds that it is about to expire starts the renewal, and does not wait for it.
  private func atHand() -> AccessToken? {
    state.withLock { state in
      switch state.book.step(now: clock.now()) {
      case .use(let token): return token
      case .useAndRenew(let token):
        begin(&state)
        return token
      case .wait, .waitAndRenew: return nil
      }
    }
  }

  /// The token that the request under way brings; it is started, if there is none.
  private func next() async -> Answer {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let early = state.withLock { join(&$0, id, continuation) }
        if let early { continuation.resume(returning: early) }
      }
    } onCancel: {
      let continuation = state.withLock { $0.waiting.removeValue(forKey: id) }
      continuation?.resume(returning: .failure(Self.cancelled))
    }
  }

  /// - Returns: the answer, when there is nothing to wait for.
  private func join(_ state: inout State, _ id: Int, _ continuation: CheckedContinuation<Answer, Never>) -> Answer? {
    // A task is marked as cancelled before its handler runs, so that one of the two finds it.
    if Task.isCancelled { return .failure(Self.cancelled) }
    switch state.book.step(now: clock.now()) {
    case .use(let token), .useAndRenew(let token): return .success(token)
    case .wait: break
    case .waitAndRenew: begin(&state)
    }
    state.waiting[id] = continuation
    return nil
  }

  /// Not a child task: the caller who happens to start it may be cancelled, and others wait for it too.
  private func begin(_ state: inout State) {
    state.book.begin()
    state.asked += 1
    let number = state.asked
    state.renewal = Task { await self.renew(number) }
  }

  private func renew(_ number: Int) async {
    let answer = await source(number)
    let waiting = state.withLock { state in
      switch answer {
      case .success(let token):
        state.given += 1
        state.book.renewed(token, now: clock.now())
      case .failure: state.book.failed(now: clock.now())
      }
      defer { state.waiting.removeAll() }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(returning: answer) }
    if case .failure(let failure) = answer, waiting.isEmpty {
      log.warning("access token cannot be renewed", [.error: failure.reason.description])
    }
  }

  private static let cancelled = AccessTokenFailure.transient(
    Reason("TOKEN_UNAVAILABLE", "Google did not give an access token in time."), after: nil)
}
