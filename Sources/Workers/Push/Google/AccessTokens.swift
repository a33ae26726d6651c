import CountersignTelemetry
import JobEngine
import Synchronization

/// RFC 6750.
struct AccessToken: Sendable {
  let text: Secret
  /// Identifies the token, whatever its text.
  let number: Int
  let expiresAt: MonotonicTime
}

/// The API the token is for was not called.
enum AccessTokenFailure: Error, Sendable, Hashable {
  /// A token may come later.
  case transient(Reason, after: Duration?)
  /// The account, its key, or this machine has to be fixed.
  case permanent(Reason)

  var classification: Classification {
    switch self {
    case .transient(let reason, let after): .retry(reason, after: after)
    case .permanent(let reason): .laneDown(reason)
    }
  }

  var reason: Reason {
    switch self {
    case .transient(let reason, _), .permanent(let reason): reason
    }
  }
}

/// Renewed before it expires by one request for all callers.
final class AccessTokens: Sendable {
  typealias Answer = Result<AccessToken, AccessTokenFailure>
  typealias Source = @Sendable (_ number: Int) async -> Answer

  private struct State {
    var token = AccessTokenState()
    var requested = 0
    var given = 0
    var waiting: [Int: CheckedContinuation<Answer, Never>] = [:]
    var nextWaiter = 0
    var renewal: Task<Void, Never>?
  }

  private let source: Source
  private let clock: any MonotonicClock
  private let logger: Logger
  private let state = Mutex(State())

  init(clock: any MonotonicClock, logger: Logger, source: @escaping Source) {
    self.clock = clock
    self.logger = logger
    self.source = source
  }

  /// Number of tokens received, for metrics.
  var given: Int { state.withLock { $0.given } }
  var failed: Int { state.withLock { $0.requested - $0.given - ($0.token.isRenewing ? 1 : 0) } }
  var waiting: Int { state.withLock { $0.waiting.count } }

  /// Available at once, except the first time and after a rejection: then all callers wait for the same request.
  func current() async -> Answer {
    if let token = available() { return .success(token) }
    return await next()
  }

  /// Drops a token that the API rejected although its age is good: the next caller gets another one. Several rejections
  /// of one token cost one renewal.
  func reject(_ token: AccessToken) { state.withLock { $0.token.drop(token) } }

  /// Waits for a request in progress. Its transport was shut down before.
  func shutdown() async { await state.withLock { $0.renewal }?.value }

  /// A caller that finds it about to expire starts the renewal and does not wait for it.
  private func available() -> AccessToken? {
    state.withLock { state in
      switch state.token.step(now: clock.now()) {
      case .use(let token): return token
      case .useAndRenew(let token):
        begin(&state)
        return token
      case .wait, .waitAndRenew: return nil
      }
    }
  }

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
      continuation?.resume(returning: .failure(Self.canceled))
    }
  }

  private func join(_ state: inout State, _ id: Int, _ continuation: CheckedContinuation<Answer, Never>) -> Answer? {
    // A task is marked as canceled before its handler runs, so that one of the two finds it.
    if Task.isCancelled { return .failure(Self.canceled) }
    switch state.token.step(now: clock.now()) {
    case .use(let token), .useAndRenew(let token): return .success(token)
    case .wait: break
    case .waitAndRenew: begin(&state)
    }
    state.waiting[id] = continuation
    return nil
  }

  /// Not a child task: the caller that starts it may be canceled, and others wait for it too.
  private func begin(_ state: inout State) {
    state.token.beginRenewal()
    state.requested += 1
    let number = state.requested
    state.renewal = Task { await self.renew(number) }
  }

  private func renew(_ number: Int) async {
    let answer = await source(number)
    let waiting = state.withLock { state in
      switch answer {
      case .success(let token):
        state.given += 1
        state.token.endRenewal(with: token, now: clock.now())
      case .failure: state.token.failRenewal(now: clock.now())
      }
      defer { state.waiting.removeAll() }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(returning: answer) }
    if case .failure(let failure) = answer, waiting.isEmpty {
      logger.warning("access token cannot be renewed", [.error: failure.reason.description])
    }
  }

  private static let canceled = AccessTokenFailure.transient(
    Reason("TOKEN_UNAVAILABLE", "Google did not issue an access token in time."), after: nil)
}
