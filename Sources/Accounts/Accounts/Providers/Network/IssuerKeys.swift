import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Synchronization

/// The keys of an issuer, fetched when they are needed, and at most once in ``pause``.
///
/// | key | fetch | what the caller gets |
/// |---|---|---|
/// | known, fresh | – | the key |
/// | known, stale | under way, or begun if the pause is over | waits for its end, unless the last one failed |
/// | known, stale, after a failure | begun, if the pause is over | the key, for ``afterlife`` at most |
/// | unknown | under way, or begun if the pause is over | waits for its end |
/// | unknown | in the pause | a refusal at once |
///
/// So a flood of unknown key IDs costs one fetch a pause, and tokens of known keys are verified while the issuer does not
/// answer.
final class IssuerKeys: Sendable {
  /// Shortest time between the begins of two fetches.
  static let pause = Duration.seconds(10)
  /// Time for which stale keys serve while fetches fail.
  static let afterlife = Duration.seconds(86_400)

  private struct State {
    var keys: [String: VerifyingKey] = [:]
    var freshUntil: MonotonicTime?
    var triedAt: MonotonicTime?
    var hasFailed = false
    var running: Task<Void, Never>?
  }

  private enum Step {
    case use(VerifyingKey)
    case wait(Task<Void, Never>)
    case refuse(APIError)
  }

  private let provider: String
  private let url: String
  private let context: ProviderContext
  private let state = Mutex(State())

  init(of provider: String, at url: String, _ context: ProviderContext) {
    self.provider = provider
    self.url = url
    self.context = context
  }

  /// The key of an ID. Suspends while a fetch that may bring it is under way.
  /// - Throws: `INVALID_IDP_RESPONSE` for an ID that the issuer does not have, or the error of an issuer that does not
  ///   answer.
  func key(_ id: String) async throws(APIError) -> VerifyingKey {
    switch step(id) {
    case .use(let key): return key
    case .refuse(let error): throw error
    case .wait(let fetch):
      await fetch.value
      return try found(id)
    }
  }

  private func step(_ id: String) -> Step {
    let now = context.clock.now()
    return state.withLock { state in
      let isDue = state.running == nil && state.triedAt.map { now - $0 >= Self.pause } ?? true
      if let key = Self.usable(state, at: now)[id] {
        guard state.freshUntil.map({ now >= $0 }) ?? true else { return .use(key) }
        if isDue { begin(&state, at: now) }
        // The issuer may have withdrawn it.
        return state.hasFailed ? .use(key) : state.running.map(Step.wait) ?? .use(key)
      }
      if isDue { begin(&state, at: now) }
      return state.running.map(Step.wait) ?? .refuse(refusal(state))
    }
  }

  private func found(_ id: String) throws(APIError) -> VerifyingKey {
    let now = context.clock.now()
    let result = state.withLock { state -> Result<VerifyingKey, APIError> in
      Self.usable(state, at: now)[id].map(Result.success) ?? .failure(refusal(state))
    }
    return try result.get()
  }

  private static func usable(_ state: State, at now: MonotonicTime) -> [String: VerifyingKey] {
    state.freshUntil.map { now - $0 < afterlife } ?? false ? state.keys : [:]
  }

  /// An ID that the last fetch could have brought, had it succeeded, is not called unknown.
  private func refusal(_ state: State) -> APIError {
    state.hasFailed
      ? .providerUnreachable(provider)
      : .invalidIDPResponse("the ID token is signed with a key that is not the issuer's")
  }

  // MARK: Fetching

  private func begin(_ state: inout State, at now: MonotonicTime) {
    state.triedAt = now
    state.running = Task { await self.fetch() }
  }

  private func fetch() async {
    do throws(TransportError) {
      let response = try await context.network.get(url)
      guard response.status == 200 else { return fail("status", "the answer has status \(response.status)") }
      guard let set = KeySet(response) else { return fail("unreadable", "the answer has no key for RS256") }
      take(set)
    } catch {
      fail("unreachable", error.description)
    }
  }

  private func take(_ set: KeySet) {
    let now = context.clock.now()
    let isNew = state.withLock { state in
      defer { (state.keys, state.freshUntil, state.hasFailed, state.running) = (set.keys, now + set.life, false, nil) }
      return state.keys.keys != set.keys.keys
    }
    context.metrics.keyFetches.with(provider, "ok").increment()
    if isNew { context.log.info("keys of an identity provider taken", ["provider": provider, "keys": set.keys.count]) }
  }

  private func fail(_ outcome: String, _ problem: String) {
    let isFirst = state.withLock { state in
      defer { (state.hasFailed, state.running) = (true, nil) }
      return !state.hasFailed
    }
    context.metrics.keyFetches.with(provider, outcome).increment()
    guard isFirst else { return }
    context.log.warning(
      "keys of an identity provider cannot be fetched",
      [
        "provider": provider, .error: problem,
        .hint: "known keys serve for a day; check the way from this machine to the address of 'providers'",
      ])
  }
}
