import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Projects
import Testing

@testable import Accounts

/// An OpenID Connect issuer on the scripted network of a ``ProviderBench``.
struct OpenIDBench: Sendable {
  static let issuer = "https://id.example.com"
  static let document = issuer + "/.well-known/openid-configuration"
  static let keys = issuer + "/keys"
  static let tokens = issuer + "/token"
  static let profile = issuer + "/userinfo"
  static let redirect = "https://auth.example.com/__/auth/handler"
  static let session = "raw session"

  let bench: ProviderBench
  let issuers: OpenIDIssuers
  /// RFC 7515, appendix A.3.
  let ecKey: SigningKey
  private static let ecJWK: [String: JSONValue] = [
    "kty": "EC", "crv": "P-256", "kid": "ec", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  ]

  init(isDevelopment: Bool = false, allowed: AllowedAddresses = AllowedAddresses()) throws {
    bench = try ProviderBench()
    issuers = OpenIDIssuers(bench.context(isDevelopment: isDevelopment, allowed: allowed))
    let jwk = Self.ecJWK.merging(["d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"]) { $1 }
    ecKey = try SigningKey(jwk: Array(JSONValue.object(jwk).json().utf8))
    publish()
    publishKeys()
  }

  /// - Parameter changes: members in place of the usual ones. `null` leaves one out.
  func publish(_ changes: [String: JSONValue] = [:], at url: String = document) {
    let usual: [String: JSONValue] = [
      "issuer": .text(Self.issuer), "authorization_endpoint": .text(Self.issuer + "/authorize"),
      "token_endpoint": .text(Self.tokens), "userinfo_endpoint": .text(Self.profile), "jwks_uri": .text(Self.keys),
      "id_token_signing_alg_values_supported": ["RS256", "ES256"],
    ]
    bench.answer(url, .object(usual.merging(changes) { $1 }.filter { $0.value != .null }))
  }

  func publishKeys(_ keys: [SigningKey]? = nil) {
    let rsa = (keys ?? [bench.key]).map(ProviderBench.jwk)
    bench.answer(Self.keys, ["keys": .array(rsa + [.object(Self.ecJWK)])])
  }

  static var configuration: OpenIDConfiguration {
    OpenIDConfiguration(
      id: "oidc.example", isEnabled: true, issuer: issuer,
      clients: [
        .init(id: "client a", secret: Secret("a:secret+")),
        .init(id: "client-ios", platform: .ios, secret: Secret("i")),
      ])
  }

  func provider(_ change: (inout OpenIDConfiguration) -> Void = { _ in }) -> OpenIDProvider {
    var configuration = Self.configuration
    change(&configuration)
    return OpenIDProvider(configuration: configuration, issuers: issuers)
  }

  func flow(_ client: String = "client a") -> PageFlow {
    PageFlow(
      project: "example", provider: "oidc.example", app: nil, clientID: client, redirectURI: Self.redirect,
      sessionHash: ProviderNonce.hash(Self.session), nonce: "flow-nonce", verifier: "flow-verifier", beganAt: bench.now)
  }

  // MARK: Tokens

  /// - Parameter changes: claims in place of those of a token from elsewhere.
  func token(_ changes: [String: JSONValue] = [:], key: SigningKey? = nil) throws -> String {
    try bench.token(
      [
        "iss": .text(Self.issuer), "aud": "client a", "sub": "u1", "iat": .integer(bench.seconds),
        "exp": .integer(bench.seconds + 600), "email": "a@example.com", "email_verified": true, "name": "A User",
      ], changes, key: key)
  }

  /// One of a page.
  func pageToken(_ changes: [String: JSONValue] = [:], key: SigningKey? = nil) throws -> String {
    try token(["nonce": "flow-nonce"].merging(changes) { $1 }, key: key)
  }

  /// Answers the exchange of codes.
  func exchange(_ idToken: String, _ changes: [String: JSONValue] = [:]) {
    let usual: [String: JSONValue] = [
      "id_token": .text(idToken), "access_token": "access", "token_type": "Bearer", "expires_in": 300,
    ]
    bench.answer(Self.tokens, .object(usual.merging(changes) { $1 }.filter { $0.value != .null }))
    bench.answer(Self.profile, ["sub": "u1", "locale": "de", "name": "Profile"])
  }

  static func answered(_ change: (inout IDPCredential) -> Void = { _ in }) -> IDPCredential {
    var credential = IDPCredential()
    credential.code = "code+1"
    credential.redirectURI = redirect
    credential.sessionID = session
    change(&credential)
    return credential
  }

  func finish(
    _ provider: OpenIDProvider? = nil, _ credential: IDPCredential = answered(), _ client: String = "client a"
  ) async -> Result<ProvenIdentity, APIError> {
    let provider = provider ?? self.provider()
    do throws(APIError) {
      return .success(
        try await provider.finish(
          flow(client), with: credential, for: ProviderBench.project, at: bench.now))
    } catch {
      return .failure(error)
    }
  }

  func refusal(_ provider: OpenIDProvider? = nil, _ credential: IDPCredential = answered()) async -> APIError? {
    if case .failure(let error) = await finish(provider, credential) { error } else { nil }
  }

  /// The forms that were sent to exchange codes.
  var forms: [(header: String?, fields: [String: String])] {
    bench.sent.filter { $0.url == Self.tokens }.map { request in
      let fields = FormEncoding.decode(request.body ?? []).map { ($0.name, $0.value) }
      return (request.headers["Authorization"], Dictionary(fields) { $1 })
    }
  }
}
