import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("OpenID Connect: pages") struct OpenIDPageTests {
  let issuer: OpenIDBench

  init() throws { issuer = try OpenIDBench() }

  // MARK: The way to the page

  private func query(
    _ provider: OpenIDProvider, _ change: (inout PageRequest) -> Void = { _ in }
  ) async throws -> (base: String, fields: [(name: String, value: String)]) {
    var request = PageRequest(sessionHash: ProviderNonce.hash(OpenIDBench.session))
    change(&request)
    let address = try await provider.pageAddress(
      issuer.flow(), request, state: Secret("sealed.state"), for: ProviderBench.project
    ).reveal()
    let parts = address.split(separator: "?", maxSplits: 1)
    return (String(parts[0]), FormEncoding.decode(parts[1].utf8).map { (name: $0.name, value: $0.value) })
  }

  @Test func `The page is asked for a code with PKCE and nonce, and for each scope once`() async throws {
    let provider = issuer.provider {
      $0.scopes = ["mail.read", "openid"]
      $0.parameters = ["prompt": "login", "tenant": "t"]
    }
    let (base, fields) = try await query(provider) {
      $0.scopes = ["calendars.read", "mail.read"]
      $0.parameters = ["login_hint": "a+b@example.com", "prompt": "consent"]
    }
    #expect(base == "https://id.example.com/authorize")
    let challenge = Base64URL.encode(SHA256.hash(Array("flow-verifier".utf8)))
    #expect(
      fields.map { "\($0.name)=\($0.value)" } == [
        "client_id=client a", "response_type=code", "redirect_uri=\(OpenIDBench.redirect)",
        "scope=openid mail.read calendars.read", "state=sealed.state", "nonce=flow-nonce",
        "code_challenge=\(challenge)", "code_challenge_method=S256", "login_hint=a+b@example.com", "prompt=consent",
        "tenant=t",
      ])
  }

  @Test func `Reserved parameters of an app are dropped with a line in the log`() async throws {
    let reserved = OpenIDForms.reservedParameters.sorted() + ["Redirect_URI"]
    let (_, fields) = try await query(issuer.provider()) { request in
      request.parameters = Dictionary(uniqueKeysWithValues: reserved.map { ($0, "evil") })
    }
    #expect(!fields.contains { $0.value == "evil" })
    #expect(Set(fields.map(\.name)).count == fields.count)
    let line = try #require(issuer.bench.logs.lines().first { $0.contains("dropped") })
    #expect(line.contains("redirect_uri") && line.contains("oidc.example") && !line.contains("evil"))
  }

  @Test func `The implicit flow asks for an ID token, at an address that keeps its own query`() async throws {
    issuer.publish(["authorization_endpoint": "https://id.example.com/authorize?tenant=1"])
    let (_, fields) = try await query(issuer.provider { $0.usesCodeFlow = false })
    #expect(fields.first.map { "\($0.name)=\($0.value)" } == "tenant=1")
    #expect(fields.contains { $0.name == "response_type" && $0.value == "id_token" })
    #expect(!fields.contains { $0.name.hasPrefix("code_challenge") })
  }

  @Test func `The client is that of the app's platform, else the first for any`() throws {
    let provider = issuer.provider()
    let ios = ProviderBench.project.apps.first
    #expect(try provider.pageClient(of: ProviderBench.project, for: ios) == "client-ios")
    #expect(try provider.pageClient(of: ProviderBench.project, for: nil) == "client a")
    let web = ProjectApp(id: "web", platform: .web, appID: "1:100000000001:web:0123456789abcdef")
    #expect(try provider.pageClient(of: ProviderBench.project, for: web) == "client a")
    let other = issuer.provider { $0.clients = [.init(id: "only", platform: .android)] }
    #expect(try other.pageClient(of: ProviderBench.project, for: web) == "only")
  }

  // MARK: Its answer

  @Test func `A code is exchanged under the client's secret, and the profile completes the claims`() async throws {
    issuer.exchange(
      try issuer.pageToken(["at_hash": .text(AccessTokenHash.make("access")), "azp": "client a"]))
    let identity = try await issuer.finish().get()
    #expect(identity.subject == "u1" && identity.displayName == "A User" && identity.oauthExpiresIn == 300)
    #expect(identity.oauthAccessToken?.reveal() == "access" && identity.oauthIDToken != nil)
    #expect(identity.rawUserInfo.contains(#""locale":"de""#) && identity.rawUserInfo.contains("A User"))
    let form = try #require(issuer.forms.first)
    #expect(form.header == "Basic " + Base64.encode(Array("client+a:a%3Asecret%2B".utf8)))
    #expect(
      form.fields == [
        "grant_type": "authorization_code", "code": "code+1", "redirect_uri": OpenIDBench.redirect,
        "code_verifier": "flow-verifier",
      ])
    #expect(issuer.bench.sent.last?.headers["Authorization"] == "Bearer access")
    #expect(!issuer.bench.logs.lines().contains { $0.contains("code+1") || $0.contains("secret+") })
  }

  @Test func `A page's address is believed where its own source calls it verified`() async throws {
    let trusting = issuer.provider { $0.trustsEmail = true }
    for (claims, profile, isBelieved): ([String: JSONValue], [String: JSONValue], Bool) in [
      ([:], [:], true), (["email": .null, "email_verified": .null], ["email": "b@example.com"], false),
      (["email": .null, "email_verified": .null], ["email": "b@example.com", "email_verified": true], true),
      (["email_verified": .null], ["email": "b@example.com", "email_verified": true], false),
      (["email_verified": .null], ["email": "a@example.com", "email_verified": true], true),
      (["email": .null], ["email": "b@example.com", "email_verified": false], false),
      (["email": .null], ["email": "b@example.com"], false),
    ] {
      issuer.exchange(try issuer.pageToken(claims))
      issuer.bench.answer(OpenIDBench.profile, .object(profile.merging(["sub": "u1"]) { $1 }))
      let identity = try await issuer.finish(trusting).get()
      #expect(identity.isEmailBelieved == isBelieved && identity.email != nil, "\(claims) \(profile)")
      #expect(try await !issuer.finish().get().isEmailBelieved)
    }
  }

  @Test func `The secret goes into the form where the issuer lists that alone, and a client without one says its name`()
    async throws
  {
    issuer.exchange(try issuer.pageToken())
    for (methods, isForm): (JSONValue, Bool) in [
      (["client_secret_post"], true), (["client_secret_post", "client_secret_basic"], false),
      (["private_key_jwt"], false),
      (.null, false),
    ] {
      issuer.publish(["token_endpoint_auth_methods_supported": methods])
      let provider = OpenIDProvider(
        configuration: OpenIDBench.configuration, issuers: OpenIDIssuers(issuer.issuers.context))
      #expect(await issuer.refusal(provider) == nil)
      let form = try #require(issuer.forms.last)
      #expect((form.fields["client_secret"] == "a:secret+") == isForm && (form.header == nil) == isForm)
    }
    let open = issuer.provider { $0.clients = [.init(id: "client a")] }
    #expect(await issuer.refusal(open) == nil)
    let form = try #require(issuer.forms.last)
    #expect(form.header == nil && form.fields["client_id"] == "client a" && form.fields["client_secret"] == nil)
  }

  @Test func `A code of another sign-in is refused by its nonce, and one that is missing or too long before`()
    async throws
  {
    for nonce: JSONValue in ["other", .null, ""] {
      issuer.exchange(try issuer.pageToken(["nonce": nonce]))
      #expect(await issuer.refusal()?.message.contains("nonce") == true)
    }
    issuer.exchange(try issuer.pageToken())
    let sent = issuer.forms.count
    for code in [nil, "", String(repeating: "c", count: 5000)] {
      let error = await issuer.refusal(nil, OpenIDBench.answered { $0.code = code })
      #expect(error?.code == .invalidIDPResponse)
    }
    // A token in the address is not one that the code gave.
    let token = try issuer.pageToken()
    let smuggled = OpenIDBench.answered { ($0.code, $0.idToken) = (nil, token) }
    #expect(await issuer.refusal(nil, smuggled)?.code == .invalidIDPResponse)
    #expect(issuer.forms.count == sent)
  }

  @Test func `The token is for the client of the flow, of no other issuer, and its access token is its own`()
    async throws
  {
    for claims: [String: JSONValue] in [
      ["aud": "client-ios"], ["aud": ["client a", "x"], "azp": "client-ios"], ["iss": "https://evil.example"],
      ["at_hash": .text(AccessTokenHash.make("other"))],
    ] {
      issuer.exchange(try issuer.pageToken(claims))
      #expect(await issuer.refusal()?.code == .invalidIDPResponse, "\(claims)")
    }
    issuer.exchange(try issuer.pageToken(), ["id_token": .null])
    #expect(await issuer.refusal()?.message.contains("no ID token") == true)
    let gone = issuer.provider { $0.clients.removeFirst() }
    #expect(await issuer.refusal(gone)?.code == .invalidIDPResponse)
  }

  @Test func `An answer that names another issuer is refused before its code is sent anywhere`() async throws {
    issuer.exchange(try issuer.pageToken())
    let mixedUp = OpenIDBench.answered { $0.issuer = "https://honest.example" }
    #expect(await issuer.refusal(nil, mixedUp)?.message.contains("iss") == true)
    #expect(issuer.forms.isEmpty)
    let named = OpenIDBench.answered { $0.issuer = OpenIDBench.issuer }
    #expect(await issuer.refusal(nil, named) == nil)
    issuer.publish(["authorization_response_iss_parameter_supported": true])
    let provider = OpenIDProvider(
      configuration: OpenIDBench.configuration, issuers: OpenIDIssuers(issuer.issuers.context))
    #expect(await issuer.refusal(provider)?.message.contains("iss is missing") == true)
    #expect(await issuer.refusal(provider, named) == nil)
  }

  @Test func `A refused code says so, and a wrong secret is the operator's`() async throws {
    for (status, error, code, part): (Int, JSONValue, APIErrorCode, String) in [
      (400, "invalid_grant", .invalidIDPResponse, "invalid_grant"), (401, "invalid_client", .internalError, "secret"),
      (400, ["message": "no"], .invalidIDPResponse, "does not exchange"),
      (400, "<b>x</b>", .invalidIDPResponse, "code"),
      (503, "x", .internalError, "does not answer"),
    ] {
      issuer.bench.answer(OpenIDBench.tokens, status: status, ["error": error])
      let refusal = await issuer.refusal()
      #expect(refusal?.code == code && refusal?.message.contains(part) == true, "\(error)")
      #expect(refusal?.message.contains("<b>") == false)
    }
  }

  @Test func `The profile of another user is refused, and one that does not come is missed`() async throws {
    issuer.exchange(try issuer.pageToken())
    issuer.bench.answer(OpenIDBench.profile, ["sub": "u2"])
    #expect(await issuer.refusal()?.message.contains("another user") == true)
    for status in [401, 500] {
      issuer.bench.answer(OpenIDBench.profile, status: status, [:])
      #expect(try await issuer.finish().get().subject == "u1")
    }
    // The word on an address is that on this one.
    issuer.exchange(try issuer.pageToken(["email_verified": .null]))
    issuer.bench.answer(OpenIDBench.profile, ["sub": "u1", "email": "b@example.com", "email_verified": true])
    let identity = try await issuer.finish().get()
    #expect(identity.email == "a@example.com" && !identity.isEmailVerified)
  }

  @Test func `The implicit flow takes the ID token of the address, with the nonce of the flow`() async throws {
    let provider = issuer.provider { $0.usesCodeFlow = false }
    func answered(_ token: String?) -> IDPCredential {
      OpenIDBench.answered { ($0.code, $0.idToken, $0.accessToken) = (nil, token, "not vouched for") }
    }
    let identity = try await issuer.finish(provider, answered(issuer.pageToken())).get()
    #expect(identity.subject == "u1" && identity.oauthAccessToken == nil)
    for token in [try issuer.token(), try issuer.token(["nonce": "other"]), nil] {
      #expect(await issuer.refusal(provider, answered(token))?.code == .invalidIDPResponse)
    }
    #expect(issuer.forms.isEmpty)
  }
}
