import CountersignMessages
import CountersignTelemetry
import Projects

@testable import Accounts

/// Keys of the provider in the configuration: `providers: { example: { … } }`.
struct ExampleSettings: ProviderSettings {
  static let section = "example"
  static let id = "example.test"

  let keysURL: String
  let issuers: Set<String>

  init(_ section: ProviderSection) {
    keysURL = section.url("keysURL", default: "https://example.test/keys", "Address of the keys of its ID tokens.")
    issuers = section.issuers(default: ["https://example.test"])
  }

  func make(_ context: ProviderContext) -> any IdentityProvider {
    ExampleProvider(tokens: ProviderTokens(of: Self.id, issuers: issuers, keysURL: keysURL, context))
  }
}

/// The provider itself: ID tokens with the nonce of the app, hashed.
struct ExampleProvider: IdentityProvider {
  let id = ExampleSettings.id
  let tokens: ProviderTokens

  func verify(
    _ credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard let token = credential.idToken, !token.isEmpty else { throw .invalidIDPResponse("id_token is missing") }
    let claims = try await tokens.verify(token, of: project.clientIDs(of: id), in: project, at: now)
    if !claims.isEmulated { try ProviderNonce.check(credential.nonce, claims, mayBeAbsent: false) }
    var identity = try claims.identity(of: id, at: now)
    identity.oauthIDToken = Secret(token)
    return identity
  }
}
