import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Exchange of a code for tokens (RFC 6749, section 4.1.3; RFC 7636, section 4.5).
struct CodeExchange: Sendable {
  /// Proof of the client to the provider.
  enum ClientSecret: Sendable {
    case none
    /// In the header `Authorization`.
    case basic(Secret)
    /// Among the fields of the form.
    case post(Secret)
  }

  static let maxCodeBytes = 4096

  let provider: String
  private let questions: ProfileFetch

  /// - Parameter issuer: that of a provider of projects.
  init(provider: String, issuer: String? = nil, _ context: ProviderContext) {
    self.provider = provider
    questions = ProfileFetch(provider: provider, context: context, issuer: issuer)
  }

  /// Members of the provider's answer. Suspends while it is fetched.
  ///
  /// - Throws: `INVALID_IDP_RESPONSE`, or the error of a provider that does not answer or refuses the secret.
  func tokens(
    at url: String, code: String, flow: PageFlow, secret: ClientSecret
  ) async throws(APIError) -> [String: JSONValue] {
    guard (1...Self.maxCodeBytes).contains(code.utf8.count) else {
      throw .invalidIDPResponse("the code is missing or too long")
    }
    var form = [
      (name: "grant_type", value: "authorization_code"), (name: "code", value: code),
      (name: "redirect_uri", value: flow.redirectURI), (name: "code_verifier", value: flow.verifier),
    ]
    var basic: (id: String, secret: Secret)?
    switch secret {
    case .none: form.append((name: "client_id", value: flow.clientID))
    case .basic(let secret): basic = (id: flow.clientID, secret: secret)
    case .post(let secret):
      form += [(name: "client_id", value: flow.clientID), (name: "client_secret", value: secret.reveal())]
    }
    switch try await questions.ask(url, form: form, basic: basic) {
    case .found(let members): return members
    case .refused(let refusal):
      if refusal.isOfSecret { throw .providerSecretWrong(provider) }
      throw .invalidIDPResponse(
        "the provider does not exchange the code" + (refusal.code.map { ": \($0)" } ?? ""))
    }
  }
}
