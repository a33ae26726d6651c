import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Apple's page") struct ApplePageTests {
  private static let tokenURL = "https://appleid.apple.com/auth/token"
  /// Made for tests.
  private static let pem = SampleKeys.p256

  let bench: ProviderBench
  let teamKey: SigningKey
  let grants: GrantSealer
  let apple: SignInWithApple
  let flow: PageFlow

  init() throws {
    bench = try ProviderBench()
    bench.publish()
    teamKey = try SigningKey(file: Array(Self.pem.utf8), id: "ABCDE12345")
    grants = GrantSealer(try KeyRing(sealing: BenchSecrets.key("tokens.1")))
    var context = bench.context(ProviderSecrets(["example": ["apple.com": Secret(Self.pem)]]))
    context.grants = grants
    apple = ProviderBench.apple(context)
    flow = bench.flow(at: "apple.com", client: "com.example.web", app: "web")
  }

  private static func project(_ change: (inout Project.ProviderFacts) -> Void = { _ in }) -> Project {
    var project = ProviderBench.project
    var facts = Project.ProviderFacts(clientIDs: ["com.example.web"])
    facts.teamKey = Project.TeamKey(teamID: "TEAM123456", keyID: "ABCDE12345")
    change(&facts)
    project.providers["apple.com"] = facts
    return project
  }

  private func answer(_ claims: [String: JSONValue] = [:], refresh: JSONValue = "refresh-1") throws -> Forms {
    let usual: [String: JSONValue] = ["aud": "com.example.web", "nonce": "nonce-1"]
    return bench.exchange(
      at: Self.tokenURL,
      [
        "access_token": "access-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh,
        "id_token": .text(try bench.appleToken(usual.merging(claims) { $1 })),
      ])
  }

  @Test func `The page is asked for a code by POST, as the Services ID, with the nonce as it is`() async throws {
    #expect(try apple.pageClient(of: Self.project(), for: nil) == "com.example.web")
    var request = PageRequest(sessionHash: "")
    request.scopes = ["email", "more"]
    request.parameters = ["locale": "de", "response_mode": "query", "client_id": "mine", "nonce": "mine"]
    let page = try await apple.page(flow, request)
    #expect(page.url == "https://appleid.apple.com/auth/authorize")
    #expect(page.query["client_id"] == "com.example.web" && page.query["response_type"] == "code")
    #expect(page.query["response_mode"] == "form_post" && page.query["scope"] == "name email more")
    #expect(page.query["redirect_uri"] == ProviderBench.returnAddress && page.query["state"] == "state-1")
    #expect(page.query["nonce"] == "nonce-1" && page.query["locale"] == "de")
  }

  @Test func `A code proves the user; the name is kept, and the refresh token sealed`() async throws {
    let forms = try answer()
    let user = #"{"name": {"firstName": "Ada", "lastName": "Lovelace"}, "email": "x@example.com"}"#
    let identity = try await apple.finish(
      flow, with: IDPCredential(code: "code-1", user: user), for: Self.project(), at: bench.now)
    #expect(identity.subject == "001234.abc.0001" && identity.email == "a@example.com" && identity.isEmailBelieved)
    #expect(identity.displayName == "Ada Lovelace" && identity.oauthAccessToken?.reveal() == "access-1")
    #expect(identity.oauthIDToken != nil && identity.oauthExpiresIn == 3600)
    let grant = try #require(identity.grant)
    #expect(grant.clientID == "com.example.web" && grant.app == "web")
    #expect(grants.open(grant)?.reveal() == "refresh-1")
    #expect(!"\(grant)".contains("refresh-1"))
    let form = forms.last
    #expect(form["grant_type"] == "authorization_code" && form["code"] == "code-1")
    #expect(form["client_id"] == "com.example.web" && form["redirect_uri"] == ProviderBench.returnAddress)
  }

  @Test func `The client secret is the team's, short-lived and signed with ES256`() async throws {
    let forms = try answer()
    _ = try await apple.finish(flow, with: IDPCredential(code: "code-1"), for: Self.project(), at: bench.now)
    let secret = try JWS.verify(try #require(forms.last["client_secret"]), with: teamKey.verifying)
    #expect(teamKey.algorithm == .es256 && secret.header["kid"] == "ABCDE12345")
    let claims = ProviderClaims(try #require(JSONReader(maxBytes: 4096).value(of: secret.payload).members))
    #expect(claims.text("iss") == "TEAM123456" && claims.text("sub") == "com.example.web")
    #expect(claims.text("aud") == "https://appleid.apple.com" && claims.time("iat") == bench.now)
    #expect(claims.time("exp") == bench.now + .seconds(300))
  }

  @Test(arguments: [
    ("nonce", JSONValue.text(ProviderNonce.hash("nonce-1")), APIErrorCode.missingOrInvalidNonce),
    ("nonce", .null, .missingOrInvalidNonce), ("aud", "com.example.app", .invalidIDPResponse),
    ("iss", "https://other.example", .invalidIDPResponse),
  ])
  func `An ID token of another flow or client is refused`(
    claim: String, value: JSONValue, code: APIErrorCode
  ) async throws {
    _ = try answer([claim: value])
    let error = await apple.refusal(flow, IDPCredential(code: "code-1"), for: Self.project(), at: bench.now)
    #expect(error?.code == code)
  }

  private func lost(_ change: [String: JSONValue]) async throws -> LostGrant? {
    _ = try answer(change)
    let checked = await apple.outcome(
      flow, with: IDPCredential(code: "code-1"), for: Self.project(), at: bench.now)
    if case .success = checked.identity { #expect(checked.lost == nil) }
    return checked.lost
  }

  @Test func `What a refused ID token leaves is a grant of its subject, and one without a subject leaves none`()
    async throws
  {
    let grant = try #require(try await lost(["nonce": "nonce-2"]))
    #expect(grant.subject == "001234.abc.0001" && grants.open(grant.grant)?.reveal() == "refresh-1")
    #expect(try await lost([:]) == nil)
    #expect(try await lost(["sub": .null]) == nil)
    #expect(try await lost(["sub": .text(String(repeating: "s", count: ProvenIdentity.maxSubjectBytes + 1))]) == nil)
    _ = bench.exchange(at: Self.tokenURL, status: 400, ["error": "invalid_grant"])
    let refused = await apple.outcome(flow, with: IDPCredential(code: "code-1"), for: Self.project(), at: bench.now)
    #expect(refused.lost == nil)
  }

  @Test func `A code that Apple refuses, and a secret, are told apart`() async throws {
    for (reason, expected) in [
      ("invalid_grant", APIErrorCode.invalidIDPResponse), ("invalid_client", .internalError),
    ] {
      _ = bench.exchange(at: Self.tokenURL, status: 400, ["error": .text(reason)])
      // The log tells each once a minute.
      for pause in [Duration.zero, .seconds(59), .seconds(1)] {
        bench.clocks.monotonic.advance(by: pause)
        let error = await apple.refusal(flow, IDPCredential(code: "code-1"), for: Self.project(), at: bench.now)
        #expect(error?.code == expected)
      }
      let told = bench.logs.lines().filter { $0.contains(reason) }
      #expect(told.count == 2 && told.allSatisfy { $0.contains("apple.com") && !$0.contains("code-1") })
      #expect(told.allSatisfy { $0.contains("providerSecretsFile") == (reason == "invalid_client") })
    }
    let forms = try answer()
    let error = await apple.refusal(flow, IDPCredential(), for: Self.project(), at: bench.now)
    #expect(error?.code == .invalidIDPResponse && forms.count == 0)
  }

  private func lack(_ provider: SignInWithApple, _ project: Project) -> APIError? {
    do throws(APIError) {
      _ = try provider.pageClient(of: project, for: nil)
      return nil
    } catch {
      return error
    }
  }

  @Test func `A project of apps alone has no page, and is told what is missing`() throws {
    let lacks = [
      lack(apple, Self.project { $0.clientIDs = [] }), lack(apple, Self.project { $0.teamKey = nil }),
      lack(ProviderBench.apple(bench.context()), Self.project()),
    ]
    for (lack, name) in zip(lacks, ["Services ID", "teamID", "providerSecretsFile"]) {
      #expect(lack?.code == .operationNotAllowed && lack?.message.contains(name) == true)
    }
    #expect(lack(apple, Self.project()) == nil)
  }

  @Test func `A key that does not sign with ES256 is refused by name`() throws {
    var rsa = "-----BEGIN PRIVATE KEY-----\n"
    var digits = Base64.encode(try bench.key.pkcs8())[...]
    while !digits.isEmpty {
      rsa += digits.prefix(64) + "\n"
      digits = digits.dropFirst(64)
    }
    let wrong = ["no key", rsa + "-----END PRIVATE KEY-----\n"]
    for text in wrong {
      let apple = ProviderBench.apple(bench.context(ProviderSecrets(["example": ["apple.com": Secret(text)]])))
      #expect(lack(apple, Self.project())?.reason == "PROVIDER_SECRET")
    }
  }

  @Test func `Without a refresh token, or with one that is too long, nothing is kept`() async throws {
    for refresh in [JSONValue.null, "", .text(String(repeating: "r", count: GrantSealer.maxTokenBytes + 1))] {
      _ = try answer(refresh: refresh)
      let identity = try await apple.finish(
        flow, with: IDPCredential(code: "code-1"), for: Self.project(), at: bench.now)
      #expect(identity.grant == nil)
    }
  }
}
