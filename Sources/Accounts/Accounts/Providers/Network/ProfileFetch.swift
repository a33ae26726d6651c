import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Synchronization

/// Questions to a provider about a user: the profile of an access token, the tokens of a code.
struct ProfileFetch: Sendable {
  /// Answer of a provider.
  enum Answer: Sendable {
    case found([String: JSONValue])
    /// The provider refuses the token, or us.
    case refused(ProviderRefusal)
  }

  private static let reader = JSONReader(maxBytes: ProviderNetwork.maxBytes, allowsRepeatedNames: true)
  /// Refusals that say nothing about the token: a time-out and a limit.
  private static let transient: Set = [408, 429]
  /// The same of Facebook's Graph API, in answers with status 400: it is out of order, or we have asked too often.
  /// Source: developers.facebook.com/docs/graph-api/guides/error-handling.
  private static let transientCodes: Set = [1, 2, 4, 17, 32, 341, 613]
  /// Questions to one provider at once: less than the places of the stage's window, so that one that hangs leaves some
  /// to the others.
  static let maxAtOnce = 16

  let provider: String
  let context: ProviderContext
  /// The issuer of a provider of projects. `nil` for one of the process.
  var issuer: String?

  /// - Parameter query: names and values, which may be secret: no URL is logged.
  /// - Throws: the error of a provider that does not answer, or not with JSON.
  func ask(
    _ url: String, _ query: [(name: String, value: String)] = [], bearer: Secret? = nil
  ) async throws(APIError) -> Answer {
    let fields = String(decoding: FormEncoding.encode(query), as: UTF8.self)
    return try await answer { network throws(TransportError) in
      try await network.get(fields.isEmpty ? url : "\(url)?\(fields)", bearer: bearer)
    }
  }

  /// - Parameter basic: the client and its secret.
  /// - Throws: the error of a provider that does not answer, or not with JSON.
  func ask(
    _ url: String, form: [(name: String, value: String)], basic: (id: String, secret: Secret)?
  ) async throws(APIError) -> Answer {
    try await answer { network throws(TransportError) in try await network.post(url, form: form, basic: basic) }
  }

  private func answer(
    _ call: (ProviderNetwork) async throws(TransportError) -> HTTPResponse
  ) async throws(APIError) -> Answer {
    let place = issuer ?? provider
    guard context.places.take(of: place) else { throw fail("full", "too many questions wait for it") }
    defer { context.places.giveBack(of: place) }
    let response: HTTPResponse
    do throws(TransportError) { response = try await call(context.network) } catch {
      throw fail("unreachable", error.description)
    }
    let members = Self.members(response.body)
    switch response.status {
    case 200:
      guard let members else { throw fail("unreadable", "the answer is not a JSON object") }
      count("ok")
      return .found(members)
    case 400..<500 where !Self.isTransient(response.status, members):
      count("refused")
      let refusal = ProviderRefusal(members ?? [:])
      log(refusal)
      return .refused(refusal)
    default: throw fail("status", "the answer has status \(response.status)")
    }
  }

  private static func isTransient(_ status: Int, _ members: [String: JSONValue]?) -> Bool {
    guard !transient.contains(status) else { return true }
    let error = members?["error"]?.members
    return error?["is_transient"] == .bool(true)
      || error?["code"]?.wholeNumber.map(transientCodes.contains) ?? false
  }

  private static func members(_ body: [UInt8]) -> [String: JSONValue]? {
    do throws(JSONRefusal) { return try reader.value(of: body).members } catch { return nil }
  }

  private func fail(_ outcome: String, _ problem: String) -> APIError {
    count(outcome)
    context.log.warning("an identity provider does not answer", ["provider": provider, .error: problem])
    return .providerUnreachable(provider)
  }

  private func log(_ refusal: ProviderRefusal) {
    guard context.refusals.isDue("\(label) \(refusal.isOfSecret)", at: context.clock.now()) else { return }
    var metadata: LogMetadata = ["provider": provider, .error: refusal.code ?? "none"]
    if refusal.isOfSecret {
      metadata.append(.hint, "if all sign-ins fail, put the project's right secret into providerSecretsFile")
    }
    context.log.warning("an identity provider refuses a code, a token, or our secret", metadata)
  }

  private func count(_ outcome: String) { context.metrics.profileFetches.with(label, outcome).increment() }

  private var label: String { issuer == nil ? provider : ProviderMetrics.openID }
}

/// Reason of a provider that refuses a token, a code, or us. Of its words only a code is shown.
struct ProviderRefusal: Sendable {
  private static let maxCodeBytes = 64
  /// Codes for a wrong secret: of RFC 6749, section 5.2, and of the Graph API, where it is the app's own or that of the
  /// token that is made of both.
  private static let secretCodes: Set = ["invalid_client", "unauthorized_client", "101", "190"]

  /// `invalid_grant`, or a number of the Graph API.
  let code: String?

  init(_ members: [String: JSONValue]) {
    let text = members["error"]?.text ?? ""
    let isCode =
      (1...Self.maxCodeBytes).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0 == 0x5F || $0 >= 0x61 && $0 <= 0x7A }
    code = isCode ? text : members["error"]?.members?["code"]?.wholeNumber.map { String($0) }
  }

  var isOfSecret: Bool { code.map(Self.secretCodes.contains) ?? false }
}

/// Times at which refusals of providers were logged. Any client may cause one, so each kind is logged once a minute.
final class RefusalTimes: Sendable {
  private static let interval = Duration.seconds(60)

  /// By the provider's label in metrics, and whether it refuses the secret: a few.
  private let times = Mutex<[String: MonotonicTime]>([:])

  func isDue(_ kind: String, at now: MonotonicTime) -> Bool {
    times.withLock { times in
      if let last = times[kind], now - last < Self.interval { return false }
      times[kind] = now
      return true
    }
  }
}
