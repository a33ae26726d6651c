import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient

/// The keys of an issuer, fetched as ``FetchedFacts`` says.
final class IssuerKeys: Sendable {
  private let provider: String
  private let keys: FetchedFacts<[String: VerifyingKey]>

  /// - Parameters:
  ///   - algorithms: those of the keys that are taken.
  ///   - label: name in metrics, if it is another than the provider's.
  init(
    of provider: String, at url: String, algorithms: Set<SignatureAlgorithm> = [.rs256], label: String? = nil,
    _ context: ProviderContext
  ) {
    self.provider = provider
    let label = label ?? provider
    context.metrics.beginKeyFetches(of: label)
    let fetch = KeyFetch(provider: provider, label: label, url: url, algorithms: algorithms, context: context)
    keys = FetchedFacts(context.clock) { await fetch.fetch(known: $0, hasFailed: $1) }
  }

  /// The key of an ID. Suspends while a fetch that may bring it is under way.
  /// - Throws: `INVALID_IDP_RESPONSE` for an ID that the issuer does not have, or the error of an issuer that does not
  ///   answer.
  func key(_ id: String) async throws(APIError) -> VerifyingKey {
    switch await keys.find({ $0[id] }) {
    case .fact(let key): return key
    // An ID that the last fetch could have brought, had it succeeded, is not called unknown.
    case .none(let hasFailed):
      throw hasFailed
        ? .providerUnreachable(provider)
        : .invalidIDPResponse("the ID token is signed with a key that is not the issuer's")
    }
  }
}

private struct KeyFetch: Sendable {
  let provider: String
  let label: String
  let url: String
  let algorithms: Set<SignatureAlgorithm>
  let context: ProviderContext

  func fetch(known: [String: VerifyingKey]?, hasFailed: Bool) async -> FetchedFacts<[String: VerifyingKey]>.Fetched? {
    let response: HTTPResponse
    do throws(TransportError) { response = try await context.network.get(url) } catch {
      return fail("unreachable", error.description, hasFailed, hint: FetchRules.hint(error))
    }
    guard response.status == 200 else {
      return fail("status", "the answer has status \(response.status)", hasFailed)
    }
    guard let set = KeySet(response, algorithms: algorithms) else {
      return fail("unreadable", "the answer has no key that can be used", hasFailed)
    }
    context.metrics.keyFetches.with(label, "ok").increment()
    if known?.keys != set.keys.keys {
      context.log.info("keys of an identity provider taken", ["provider": provider, "keys": set.keys.count])
    }
    return (set.keys, set.life)
  }

  /// Only the first failure is logged.
  private func fail(
    _ outcome: String, _ problem: String, _ hasFailed: Bool, hint: String? = nil
  ) -> FetchedFacts<[String: VerifyingKey]>.Fetched? {
    context.metrics.keyFetches.with(label, outcome).increment()
    guard !hasFailed else { return nil }
    context.log.warning(
      "keys of an identity provider cannot be fetched",
      [
        "provider": provider, .error: problem,
        .hint: hint ?? "known keys serve for a day; check the way from this machine to the address of 'providers'",
      ])
    return nil
  }
}
