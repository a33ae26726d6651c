import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Accounts

@Suite("The pages of Google and Facebook") struct ProviderPageTests {
  private static let googleTokens = "https://oauth2.googleapis.com/token"
  private static let facebookTokens = "\(FacebookTests.graph)/oauth/access_token"

  let bench: ProviderBench
  let google: SignInWithGoogle
  let facebook: SignInWithFacebook
  let googleFlow: PageFlow
  let facebookFlow: PageFlow

  init() throws {
    bench = try ProviderBench()
    bench.publish(at: ProviderBench.googleKeys)
    let secrets = ProviderSecrets([
      "example": ["google.com": .byClient(["two.apps.example": Secret("g-secret")]), "facebook.com": .one(Secret("f"))]
    ])
    google = ProviderBench.google(bench.context(secrets))
    facebook = ProviderBench.facebook(bench.context(secrets))
    googleFlow = bench.flow(at: "google.com", client: "two.apps.example")
    facebookFlow = bench.flow(at: "facebook.com", client: "1234567890")
  }

  private func answerGoogle(_ claims: [String: JSONValue] = [:]) throws -> Forms {
    let usual: [String: JSONValue] = ["aud": "two.apps.example", "azp": "two.apps.example", "nonce": "nonce-1"]
    return bench.exchange(
      at: Self.googleTokens,
      [
        "access_token": "access-1", "expires_in": 3599,
        "id_token": .text(try bench.googleToken(usual.merging(claims) { $1 })),
      ])
  }

  @Test func `Google's page is opened by the client that has a secret`() async throws {
    #expect(try google.pageClient(of: ProviderBench.project, for: nil) == "two.apps.example")
    #expect(throws: APIError.self) {
      try ProviderBench.google(bench.context()).pageClient(of: ProviderBench.project, for: nil)
    }
    let page = try await google.page(googleFlow)
    #expect(page.url == "https://accounts.google.com/o/oauth2/v2/auth")
    #expect(page.query["scope"] == "openid email profile" && page.query["nonce"] == "nonce-1")
    #expect(page.query["code_challenge_method"] == "S256" && page.query["response_mode"] == nil)
  }

  @Test func `A code of Google proves the user`() async throws {
    let forms = try answerGoogle()
    let identity = try await google.finish(
      googleFlow, with: IDPCredential(code: "code-1"), for: ProviderBench.project, at: bench.now)
    #expect(identity.subject == "1085" && identity.isEmailBelieved && identity.grant == nil)
    #expect(identity.oauthAccessToken?.reveal() == "access-1" && identity.oauthExpiresIn == 3599)
    let form = forms.last
    #expect(form["client_secret"] == "g-secret" && form["client_id"] == "two.apps.example")
    #expect(form["code_verifier"] == "verifier-1")
  }

  @Test(arguments: [
    ("nonce", JSONValue.text(ProviderNonce.hash("nonce-1"))), ("nonce", .null), ("aud", "one.apps.example"),
    ("azp", "one.apps.example"),
  ])
  func `An ID token of another flow or client is refused`(claim: String, value: JSONValue) async throws {
    _ = try answerGoogle([claim: value])
    #expect(await google.refusal(googleFlow, IDPCredential(code: "code-1"), at: bench.now) != nil)
  }

  @Test func `Facebook's page is opened by the app, and its code yields a token that is checked`() async throws {
    #expect(try facebook.pageClient(of: ProviderBench.project, for: nil) == "1234567890")
    let page = try await facebook.page(facebookFlow)
    #expect(page.url == "https://www.facebook.com/v23.0/dialog/oauth")
    #expect(page.query["scope"] == "email public_profile" && page.query["client_id"] == "1234567890")
    let forms = bench.exchange(at: Self.facebookTokens, ["access_token": "access-1", "token_type": "bearer"])
    bench.answer(
      "\(FacebookTests.graph)/debug_token",
      ["data": ["app_id": "1234567890", "is_valid": true, "type": "USER", "user_id": "77"]])
    bench.answer("\(FacebookTests.graph)/me", ["id": "77", "name": "A User"])
    let identity = try await facebook.finish(
      facebookFlow, with: IDPCredential(code: "code-1"), for: ProviderBench.project, at: bench.now)
    #expect(identity.subject == "77" && identity.oauthAccessToken?.reveal() == "access-1")
    #expect(forms.last["client_secret"] == "f" && forms.last["code"] == "code-1")
  }

  @Test func `A code of Facebook whose token is another app's is refused`() async throws {
    _ = bench.exchange(at: Self.facebookTokens, ["access_token": "access-1"])
    bench.answer(
      "\(FacebookTests.graph)/debug_token",
      ["data": ["app_id": "1", "is_valid": true, "type": "USER", "user_id": "77"]])
    let error = await facebook.refusal(facebookFlow, IDPCredential(code: "code-1"), at: bench.now)
    #expect(error?.code == .invalidIDPResponse)
    _ = bench.exchange(at: Self.facebookTokens, [:])
    #expect(
      await facebook.refusal(facebookFlow, IDPCredential(code: "code-1"), at: bench.now)?.code == .invalidIDPResponse)
  }
}
