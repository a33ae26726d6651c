import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Projects
import Synchronization
import TestSupport

@testable import Accounts

/// Providers of a process, with a scripted network and clocks that stand still.
final class ProviderBench: Sendable {
  typealias Answers = @Sendable (HTTPRequest) async throws(TransportError) -> HTTPResponse

  static let appleKeys = "https://appleid.apple.com/auth/keys"
  static let googleKeys = "https://www.googleapis.com/oauth2/v3/certs"
  static let facebookKeys = "https://limited.facebook.com/.well-known/oauth/openid/jwks/"

  let key: SigningKey
  let clocks = ManualClocks()
  let metrics = MetricsRegistry()
  let logs = MemorySink()
  private let state = Mutex<(answers: [String: Answers], requests: [HTTPRequest])>(([:], []))

  init() throws { key = try SigningKey.generateRSA(id: "key-1") }

  /// Answers of the addresses below a URL.
  func answer(_ url: String, _ answers: @escaping Answers) { state.withLock { $0.answers[url] = answers } }

  func answer(_ url: String, status: Int = 200, headers: HTTPHeaders = [:], _ json: JSONValue) {
    answer(url) { _ throws(TransportError) in
      HTTPResponse(status: status, headers: headers, body: Array(json.json().utf8))
    }
  }

  func publish(_ keys: [SigningKey]? = nil, at url: String = appleKeys, headers: HTTPHeaders = [:]) {
    answer(url, headers: headers, ["keys": .array((keys ?? [key]).map(Self.jwk))])
  }

  /// URLs that were asked, without their queries.
  var requests: [String] { urls.map { String($0.prefix { $0 != "?" }) } }

  var urls: [String] { sent.map(\.url) }

  var sent: [HTTPRequest] { state.withLock { $0.requests } }

  func context(
    _ secrets: ProviderSecrets = ProviderSecrets(), isDevelopment: Bool = false,
    allowed: AllowedAddresses = AllowedAddresses()
  ) -> ProviderContext {
    let network = ProviderNetwork(allowed) { request throws(TransportError) in
      let answers = self.state.withLock { state in
        state.requests.append(request)
        return state.answers.filter { request.url.hasPrefix($0.key) }.max { $0.key.count < $1.key.count }?.value
      }
      guard let answers else {
        throw TransportError(kind: .connect, requestMayHaveLeft: false, description: "nothing there")
      }
      return try await answers(request)
    }
    return ProviderContext(
      network: network, clock: clocks.monotonic, log: Logger(label: "test", sink: logs),
      metrics: ProviderMetrics(metrics), secrets: secrets, isDevelopment: isDevelopment)
  }

  static func jwk(_ key: SigningKey) -> JSONValue {
    guard let (n, e) = key.verifying.rsaComponents else { return .null }
    return ["kty": "RSA", "alg": "RS256", "use": "sig", "kid": .text(key.id ?? ""), "n": .text(n), "e": .text(e)]
  }

  var now: UnixTime { clocks.wall.now() }
  var seconds: Int64 { now.seconds }

  /// A project with all providers on.
  static let project: Project = {
    var project = Project(id: "example", number: 100_000_000_001)
    project.methods = [.provider("apple.com"), .provider("google.com"), .provider("facebook.com")]
    project.apps = [ProjectApp(id: "com.example.app", platform: .ios, appID: "1:100000000001:ios:0123456789abcdef")]
    project.providers = [
      "apple.com": Project.ProviderFacts(clientIDs: ["com.example.web"]),
      "google.com": Project.ProviderFacts(clientIDs: ["one.apps.example", "two.apps.example"]),
      "facebook.com": Project.ProviderFacts(appID: "1234567890"),
    ]
    return project
  }()

  // MARK: Tokens

  /// - Parameter changes: claims in place of the usual ones; `null` leaves one out.
  func token(
    _ usual: [String: JSONValue], _ changes: [String: JSONValue] = [:], key: SigningKey? = nil
  ) throws -> String {
    let claims = usual.merging(changes) { $1 }.filter { $0.value != .null }
    return try JWS.sign(Array(JSONValue.object(claims).json().utf8), with: key ?? self.key)
  }

  func appleToken(_ changes: [String: JSONValue] = [:], key: SigningKey? = nil) throws -> String {
    try token(
      [
        "iss": "https://appleid.apple.com", "aud": "com.example.app", "sub": "001234.abc.0001",
        "iat": .integer(seconds), "exp": .integer(seconds + 86_400), "email": "a@example.com", "email_verified": "true",
        "nonce_supported": true,
      ], changes, key: key)
  }

  func googleToken(_ changes: [String: JSONValue] = [:]) throws -> String {
    try token(
      [
        "iss": "https://accounts.google.com", "aud": "one.apps.example", "azp": "two.apps.example", "sub": "1085",
        "iat": .integer(seconds), "exp": .integer(seconds + 3600), "email": "a@gmail.com", "email_verified": true,
        "name": "A User", "given_name": "A", "family_name": "User", "picture": "https://lh3.example/a",
      ], changes)
  }

  func facebookToken(_ changes: [String: JSONValue] = [:]) throws -> String {
    try token(
      [
        "iss": "https://limited.facebook.com", "aud": "1234567890", "sub": "77", "iat": .integer(seconds),
        "exp": .integer(seconds + 3600), "email": "a@example.com", "nonce": .text(ProviderNonce.hash("raw")),
      ], changes)
  }

  /// A token whose header is not what ``SigningKey`` writes.
  static func forged(header: JSONValue, _ claims: JSONValue, signature: [UInt8]) -> String {
    [Array(header.json().utf8), Array(claims.json().utf8), signature].map { Base64URL.encode($0) }
      .joined(separator: ".")
  }
}

extension IdentityProvider {
  /// The error of a credential.
  func refusal(
    _ credential: IDPCredential, for project: Project = ProviderBench.project, at now: UnixTime
  ) async -> APIError? {
    do throws(APIError) {
      _ = try await verify(credential, for: project, at: now)
      return nil
    } catch {
      return error
    }
  }
}

extension IDPCredential {
  init(
    _ provider: String, _ idToken: String? = nil, accessToken: String? = nil, nonce: String? = nil, user: String? = nil
  ) {
    self.init(providerID: provider)
    self.idToken = idToken
    self.accessToken = accessToken
    self.nonce = nonce
    self.user = user
  }
}
