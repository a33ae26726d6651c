import CountersignTelemetry
import HTTPClient
import Synchronization

/// Facts of an issuer, fetched when they are needed, and at most once in ``FetchRules/pause``.
///
/// | fact | fetch | what the caller gets |
/// |---|---|---|
/// | known, fresh | – | the fact |
/// | known, stale | under way, or begun if the pause is over | waits for its end, unless the last one failed |
/// | known, stale, after a failure | begun, if the pause is over | the fact, for a day at most |
/// | unknown | under way, or begun if the pause is over | waits for its end |
/// | unknown | in the pause | nothing, at once |
///
/// So a flood of questions for what is not there costs one fetch a pause, and what is known serves while the issuer
/// does not answer.
final class FetchedFacts<Facts: Sendable>: Sendable {
  /// Facts of a fetch, with the time for which they are fresh.
  typealias Fetched = (facts: Facts, life: Duration)
  /// Fetches them. Gets the known ones, and whether the last fetch failed. `nil` for a failure, which it has told.
  typealias Fetch = @Sendable (_ known: Facts?, _ hasFailed: Bool) async -> Fetched?

  /// A fact, or whether the last fetch failed, which could have brought it.
  enum Found<Fact: Sendable>: Sendable {
    case fact(Fact)
    case none(hasFailed: Bool)
  }

  private struct State {
    var facts: Facts?
    var freshUntil: MonotonicTime?
    var triedAt: MonotonicTime?
    var hasFailed = false
    var running: Task<Void, Never>?
    /// Callers that wait for it.
    var waiting = 0
  }

  private enum Step<Fact: Sendable> {
    case end(Found<Fact>)
    case wait(Task<Void, Never>)
  }

  private let clock: any MonotonicClock
  private let fetch: Fetch
  private let state = Mutex(State())

  init(_ clock: any MonotonicClock, fetch: @escaping Fetch) {
    self.clock = clock
    self.fetch = fetch
  }

  /// Suspends while a fetch that may bring the fact is under way.
  func find<Fact: Sendable>(_ fact: @Sendable (Facts) -> Fact?) async -> Found<Fact> {
    switch step(fact) {
    case .end(let found): return found
    case .wait(let fetch):
      await fetch.value
      let now = clock.now()
      return state.withLock { state -> Found<Fact> in
        state.waiting -= 1
        guard let known = Self.usable(state, at: now).flatMap(fact) else { return .none(hasFailed: state.hasFailed) }
        return .fact(known)
      }
    }
  }

  private func step<Fact: Sendable>(_ fact: (Facts) -> Fact?) -> Step<Fact> {
    let now = clock.now()
    return state.withLock { state -> Step<Fact> in
      let isDue = state.running == nil && state.triedAt.map { now - $0 >= FetchRules.pause } ?? true
      // After a failure only the one who begins waits: an issuer that hangs holds up one command at a time.
      let mayWait = state.waiting < (state.hasFailed ? 1 : FetchRules.maxWaiting)
      if let known = Self.usable(state, at: now).flatMap(fact) {
        guard state.freshUntil.map({ now >= $0 }) ?? true else { return .end(.fact(known)) }
        if isDue { begin(&state, at: now) }
        // The issuer may have withdrawn it.
        guard !state.hasFailed, mayWait, let running = state.running else { return .end(.fact(known)) }
        state.waiting += 1
        return .wait(running)
      }
      if isDue { begin(&state, at: now) }
      guard let running = state.running else { return .end(.none(hasFailed: state.hasFailed)) }
      guard mayWait else { return .end(.none(hasFailed: true)) }
      state.waiting += 1
      return .wait(running)
    }
  }

  private static func usable(_ state: State, at now: MonotonicTime) -> Facts? {
    state.freshUntil.map { now - $0 < FetchRules.afterlife } ?? false ? state.facts : nil
  }

  private func begin(_ state: inout State, at now: MonotonicTime) {
    let (known, hasFailed) = (state.facts, state.hasFailed)
    state.triedAt = now
    state.running = Task { [self] in end(await fetch(known, hasFailed)) }
  }

  private func end(_ fetched: Fetched?) {
    let now = clock.now()
    state.withLock { state in
      if let fetched { (state.facts, state.freshUntil) = (fetched.facts, now + fetched.life) }
      (state.hasFailed, state.running) = (fetched == nil, nil)
    }
  }
}

enum FetchRules {
  /// The most commands that wait for a fetch: fewer than the window of their stage has places.
  static let maxWaiting = 24
  /// Shortest time between the begins of two fetches.
  static let pause = Duration.seconds(10)
  /// Time for which stale facts serve while fetches fail.
  static let afterlife = Duration.seconds(86_400)
  /// Bounds of the life that an issuer may give its facts.
  static let life = (shortest: Duration.seconds(60), usual: Duration.seconds(3600), longest: Duration.seconds(86_400))

  /// Hint for a failure that has one of its own.
  static func hint(_ error: TransportError) -> String? {
    guard error.kind == .certificate else { return nil }
    return "renew the certificate; one of an own authority needs providers.allowedAddresses and providers.caFile"
  }

  /// - Parameter cacheControl: header of the answer.
  static func life(_ cacheControl: String?) -> Duration {
    let directives = (cacheControl ?? "").lowercased().split { $0 == "," || $0 == " " }
    if directives.contains("no-store") || directives.contains("no-cache") { return life.shortest }
    guard let age = directives.first(where: { $0.hasPrefix("max-age=") }).flatMap({ Int32($0.dropFirst(8)) }) else {
      return life.usual
    }
    return min(life.longest, max(life.shortest, .seconds(age)))
  }
}
