import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import ServiceRuntime
import Synchronization

/// The issuers of all projects' OpenID Connect providers, with what was fetched of them. Those that were not used for
/// longest are forgotten.
final class OpenIDIssuers: Sendable {
  static let maxIssuers = 256

  private struct State {
    var issuers: [String: (issuer: OpenIDIssuer, usedAt: UInt64)] = [:]
    var uses: UInt64 = 0
  }

  let context: ProviderContext
  private let state = Mutex(State())

  init(_ context: ProviderContext) {
    self.context = context
  }

  subscript(issuer: String) -> OpenIDIssuer {
    state.withLock { state in
      state.uses += 1
      let found = state.issuers[issuer]?.issuer ?? OpenIDIssuer(issuer, context)
      state.issuers[issuer] = (found, state.uses)
      if state.issuers.count > Self.maxIssuers,
        let oldest = state.issuers.min(by: { $0.value.usedAt < $1.value.usedAt })
      {
        state.issuers[oldest.key] = nil
      }
      return found
    }
  }
}

/// Issuer of an OpenID Connect provider.
final class OpenIDIssuer: Sendable {
  struct Facts: Sendable {
    let discovery: OpenIDDiscovery
    /// Of all algorithms, whichever the issuer names.
    let keys: IssuerKeys
  }

  /// Its host, as logs have it.
  let name: String
  private let known: FetchedFacts<Facts>

  init(_ issuer: String, _ context: ProviderContext) {
    let name = URLParts(issuer)?.host ?? "issuer"
    self.name = name
    let fetch = DiscoveryFetch(issuer: issuer, name: name, context: context)
    known = FetchedFacts(context.clock) { await fetch.fetch(known: $0, hasFailed: $1) }
  }

  /// Suspends while they are fetched.
  /// - Throws: the error of an issuer that does not answer, or not as agreed.
  func facts() async throws(APIError) -> Facts {
    switch await known.find({ $0 }) {
    case .fact(let facts): return facts
    case .none: throw .providerUnreachable(name)
    }
  }
}

private struct DiscoveryFetch: Sendable {
  private static let path = "/.well-known/openid-configuration"

  let issuer: String
  let name: String
  let context: ProviderContext

  func fetch(known: OpenIDIssuer.Facts?, hasFailed: Bool) async -> FetchedFacts<OpenIDIssuer.Facts>.Fetched? {
    let response: HTTPResponse
    do throws(TransportError) {
      let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
      response = try await context.network.get(base + Self.path)
    } catch {
      return fail("unreachable", error.description, hasFailed, hint: FetchRules.hint(error))
    }
    guard response.status == 200 else {
      return fail("status", "the answer has status \(response.status)", hasFailed)
    }
    let discovery: OpenIDDiscovery
    do throws(OpenIDDiscovery.Problem) {
      discovery = try OpenIDDiscovery(response.body, of: issuer, allows: context.network.mayCall)
    } catch {
      return fail("unreadable", error.text, hasFailed)
    }
    context.metrics.discoveries.with("ok").increment()
    let keys = known.flatMap { $0.discovery.keysURL == discovery.keysURL ? $0.keys : nil }
    let facts = OpenIDIssuer.Facts(
      discovery: discovery,
      keys: keys
        ?? IssuerKeys(
          of: name, at: discovery.keysURL, algorithms: [.rs256, .es256], label: ProviderMetrics.openID, context))
    return (facts, FetchRules.life(response.headers["Cache-Control"]))
  }

  /// Only the first failure is logged.
  private func fail(
    _ outcome: String, _ problem: String, _ hasFailed: Bool, hint: String? = nil
  ) -> FetchedFacts<OpenIDIssuer.Facts>.Fetched? {
    context.metrics.discoveries.with(outcome).increment()
    guard !hasFailed else { return nil }
    context.log.warning(
      "the document of an OpenID Connect issuer cannot be fetched",
      [
        "provider": name, .error: problem,
        .hint: hint ?? "what is known serves for a day; 'countersign provider check' says what is wrong",
      ])
    return nil
  }
}
