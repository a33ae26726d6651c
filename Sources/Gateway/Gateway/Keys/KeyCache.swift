import CountersignConcurrency
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import Synchronization

/// The public keys of ID tokens and session cookies, as `accounts` last published them.
///
/// Verifiers get the last good keys for as long as there are any: keys change once a month, and a verifier without keys
/// refuses every user. Keys that could not be fetched again for ``freshness`` are given out with a short life instead,
/// so that a verifier asks again before a new key signs.
final class KeyCache: Service {
  static let interval = Duration.seconds(60)
  /// Age up to which verifiers may keep the keys for their whole life. A new key signs this much later than the life of
  /// its first publication demands.
  static let freshness = Duration.seconds(300)
  /// Seconds for which verifiers may keep older keys.
  static let staleMaxAge = 60
  /// Pause after a failed fetch, in which requests without keys are refused at once.
  static let pause = Duration.seconds(1)

  struct Answer: Sendable {
    let keys: PublicKeys
    let maxAge: Int
  }

  private struct State {
    var keys: PublicKeys?
    var fetchedAt: MonotonicTime?
    var failedAt: MonotonicTime?
    var fetching: Task<Void, Never>?
  }

  let name = "keys"
  private let fetch: @Sendable () async throws(ProtocolError) -> KeysPublished
  private let clock: any MonotonicClock
  private let log: Logger
  private let failures: Counter
  private let state = Mutex(State())
  private let stopRequested = Latch()

  init(
    clock: any MonotonicClock, log: Logger, metrics: MetricsRegistry,
    fetch: @escaping @Sendable () async throws(ProtocolError) -> KeysPublished
  ) {
    self.fetch = fetch
    self.clock = clock
    self.log = log
    failures = metrics.counter(
      "countersign_gateway_key_fetch_failures_total", "Fetches of the public keys of ID tokens that failed.")
    metrics.gauge(
      "countersign_gateway_keys_age_seconds", "Time since the public keys of ID tokens were last fetched; -1: never."
    ) { [weak self] in self?.age?.fractionalSeconds ?? -1 }
  }

  var isFilled: Bool { state.withLock { $0.keys != nil } }

  /// Fetched first if there are none.
  func current() async throws(ProtocolError) -> Answer {
    if let answer { return answer }
    if !isPausing { await refresh() }
    guard let answer else { throw .unavailable }
    return answer
  }

  /// The keys as they are now, if those at hand have none of session cookies: their first one signs as soon as it is
  /// made. Their absence is not kept by verifiers.
  func currentWithCookieKeys() async throws(ProtocolError) -> Answer {
    let known = try await current()
    guard known.keys.cookieKeys.isEmpty else { return known }
    await refreshUnlessFailed()
    let answer = try await current()
    return answer.keys.cookieKeys.isEmpty ? Answer(keys: answer.keys, maxAge: 0) : answer
  }

  /// Fetches the keys after a change: a fetch that runs may have been answered before it.
  func refreshAfterChange() async {
    await state.withLock { $0.fetching }?.value
    await refresh()
  }

  /// The same, unless a fetch has just failed: while accounts hangs, one at most waits for it.
  private func refreshUnlessFailed() async {
    await state.withLock { $0.fetching }?.value
    if !isPausing { await refresh() }
  }

  /// Callers at the same time share the fetch.
  func refresh() async {
    let task = state.withLock { state in
      if let running = state.fetching { return running }
      let task = Task { await self.fetchOnce() }
      state.fetching = task
      return task
    }
    await task.value
  }

  // MARK: Service

  func run() async {
    await stopRequested.cancelingWhenOpen { await self.keepFresh() }
  }

  func stop() async {
    stopRequested.open()
  }

  private func keepFresh() async {
    while !Task.isCancelled {
      await refresh()
      do { try await Task.sleep(for: isFilled ? Self.interval : Self.pause) } catch { return }
    }
  }

  // MARK: Fetching

  private func fetchOnce() async {
    do throws(ProtocolError) {
      let published = try await fetch()
      if let keys = PublicKeys(published) { take(keys) } else { note("accounts has published no key") }
    } catch {
      note(error.message)
    }
  }

  private func take(_ keys: PublicKeys) {
    let now = clock.now()
    let isNew = state.withLock { state in
      defer { (state.keys, state.fetchedAt, state.failedAt, state.fetching) = (keys, now, nil, nil) }
      return state.keys?.keys != keys.keys || state.keys?.cookieKeys != keys.cookieKeys
    }
    if isNew { log.info("public keys of ID tokens taken") }
  }

  private func note(_ problem: String) {
    let now = clock.now()
    failures.increment()
    let isFirst = state.withLock { state in
      defer { (state.failedAt, state.fetching) = (now, nil) }
      return state.failedAt == nil
    }
    guard isFirst else { return }
    log.warning(
      "public keys of ID tokens cannot be fetched",
      [.error: problem, .hint: "verifiers get the last ones, if any; check that 'accounts' runs"])
  }

  // MARK: Reading

  private var answer: Answer? {
    let now = clock.now()
    return state.withLock { state in
      guard let keys = state.keys, let fetchedAt = state.fetchedAt else { return nil }
      let isFresh = now - fetchedAt <= Self.freshness
      return Answer(keys: keys, maxAge: isFresh ? keys.maxAge : min(Self.staleMaxAge, keys.maxAge))
    }
  }

  private var isPausing: Bool {
    let now = clock.now()
    return state.withLock { state in
      guard state.fetching == nil, let failedAt = state.failedAt else { return false }
      return now - failedAt < Self.pause
    }
  }

  private var age: Duration? {
    let now = clock.now()
    return state.withLock { $0.fetchedAt }.map { now - $0 }
  }
}
