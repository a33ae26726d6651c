import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Projects
import Synchronization

@testable import Accounts

extension ProviderBench {
  static let returnAddress = "https://auth.example.com/__/auth/handler"

  static func apple(_ context: ProviderContext) -> SignInWithApple {
    SignInWithApple(
      tokens: ProviderTokens(
        of: "apple.com", issuers: ["https://appleid.apple.com", "https://account.apple.com"], keysURL: appleKeys,
        context),
      page: ProviderPage(
        of: "apple.com", authorizeURL: "https://appleid.apple.com/auth/authorize",
        tokenURL: "https://appleid.apple.com/auth/token", context),
      secrets: context.secrets, grants: context.grants)
  }

  static func google(_ context: ProviderContext) -> SignInWithGoogle {
    SignInWithGoogle(
      tokens: ProviderTokens(
        of: "google.com", issuers: ["https://accounts.google.com", "accounts.google.com"], keysURL: googleKeys, context),
      profiles: ProfileFetch(provider: "google.com", context: context), tokenInfoURL: GoogleTests.info,
      userInfoURL: GoogleTests.profile,
      page: ProviderPage(
        of: "google.com", authorizeURL: "https://accounts.google.com/o/oauth2/v2/auth",
        tokenURL: "https://oauth2.googleapis.com/token", context),
      secrets: context.secrets)
  }

  static func facebook(_ context: ProviderContext) -> SignInWithFacebook {
    SignInWithFacebook(
      tokens: ProviderTokens(
        of: "facebook.com", issuers: ["https://www.facebook.com", "https://limited.facebook.com"],
        keysURL: facebookKeys, context),
      profiles: ProfileFetch(provider: "facebook.com", context: context), graph: FacebookTests.graph,
      page: ProviderPage(
        of: "facebook.com", authorizeURL: "https://www.facebook.com/v23.0/dialog/oauth",
        tokenURL: "\(FacebookTests.graph)/oauth/access_token", context),
      secrets: context.secrets)
  }

  func flow(at provider: String, client: String, app: String? = nil) -> PageFlow {
    PageFlow(
      project: Self.project.id, provider: provider, app: app, clientID: client, redirectURI: Self.returnAddress,
      sessionHash: String(repeating: "0", count: 64), nonce: "nonce-1", verifier: "verifier-1", beganAt: now)
  }

  /// Answers the exchange of codes, and says which forms came.
  func exchange(at url: String, status: Int = 200, _ json: JSONValue) -> Forms {
    let forms = Forms()
    answer(url) { request throws(TransportError) in
      forms.take(request.body ?? [])
      return HTTPResponse(status: status, headers: [:], body: Array(json.json().utf8))
    }
    return forms
  }
}

/// Forms that a scripted address has got.
final class Forms: Sendable {
  private let all = Mutex<[[String: String]]>([])

  func take(_ body: [UInt8]) {
    let form = Forms.fields(String(decoding: body, as: UTF8.self))
    all.withLock { $0.append(form) }
  }

  var last: [String: String] { all.withLock { $0.last ?? [:] } }
  var count: Int { all.withLock { $0.count } }

  static func fields(_ text: some StringProtocol) -> [String: String] {
    let pairs = FormEncoding.decode(text.utf8).map { ($0.name, $0.value) }
    return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
  }
}

extension PageProvider {
  /// Query of the page's address, and what stands before it.
  func page(
    _ flow: PageFlow, _ request: PageRequest = PageRequest(sessionHash: "")
  ) async throws -> (url: String, query: [String: String]) {
    let address = try await pageAddress(flow, request, state: Secret("state-1"), for: ProviderBench.project).reveal()
    let parts = address.split(separator: "?", maxSplits: 1)
    return (String(parts[0]), Forms.fields(parts[1]))
  }

  /// The error of an answer of the page.
  func refusal(
    _ flow: PageFlow, _ credential: IDPCredential, for project: Project = ProviderBench.project, at now: UnixTime
  ) async -> APIError? {
    do throws(APIError) {
      _ = try await finish(flow, with: credential, for: project, at: now)
      return nil
    } catch {
      return error
    }
  }
}

extension IDPCredential {
  /// Answer of a page.
  init(code: String, user: String? = nil) {
    self.init()
    self.code = code
    self.user = user
  }
}
