import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Accounts

@Suite("Facebook") struct FacebookTests {
  static let graph = "https://graph.facebook.com/v23.0"

  let bench: ProviderBench
  let facebook: any IdentityProvider

  init() throws {
    bench = try ProviderBench()
    bench.publish(at: ProviderBench.facebookKeys)
    facebook = ProviderBench.facebook(
      bench.context(ProviderSecrets(["example": ["facebook.com": Secret("app-secret")]])))
  }

  private func refusal(access: String) async -> APIError? {
    await facebook.refusal(IDPCredential("facebook.com", accessToken: access), at: bench.now)
  }

  private func answer(_ data: [String: JSONValue] = [:], _ profile: [String: JSONValue] = [:]) {
    let facts: [String: JSONValue] = [
      "app_id": "1234567890", "is_valid": true, "type": "USER", "user_id": "77",
      "expires_at": .integer(bench.seconds + 60), "scopes": ["email"],
    ]
    bench.answer(
      "\(Self.graph)/debug_token", ["data": .object(facts.merging(data) { $1 }.filter { $0.value != .null })])
    let user: [String: JSONValue] = [
      "id": "77", "name": "A User", "first_name": "A", "last_name": "User", "email": "a@example.com",
      "picture": ["data": ["url": "https://graph.example/77"]],
    ]
    bench.answer("\(Self.graph)/me", .object(user.merging(profile) { $1 }.filter { $0.value != .null }))
  }

  @Test func `An access token of our app gives the profile, whose address is never believed`() async throws {
    answer()
    let identity = try await facebook.verify(
      IDPCredential("facebook.com", accessToken: "EAAB"), for: ProviderBench.project, at: bench.now)
    #expect(identity.subject == "77" && identity.displayName == "A User" && identity.email == "a@example.com")
    #expect(!identity.isEmailVerified && !identity.isEmailBelieved && identity.photoURL == "https://graph.example/77")
    #expect(identity.rawUserInfo.contains(#""first_name":"A""#) && identity.oauthExpiresIn == 60)
    #expect(
      bench.urls == [
        "\(Self.graph)/debug_token?input_token=EAAB&access_token=1234567890%7Capp-secret",
        // The proof is that of Facebook's documents: HMAC-SHA256 of the token under the app secret.
        "\(Self.graph)/me?fields=id%2Cname%2Cfirst_name%2Clast_name%2Cemail%2Cpicture&access_token=EAAB&appsecret_proof=\(Self.proof)",
      ])
    answer([:], ["email": .null])
    #expect(await refusal(access: "EAAB") == nil, "the address may be missing")
    answer(["expires_at": 0])
    #expect(await refusal(access: "EAAB") == nil, "some tokens do not expire")
  }

  /// `printf EAAB | openssl dgst -sha256 -hmac app-secret`
  private static let proof = "270719a879708ea59f5773cc87c693ea0814ab09f5edc698b634ee79b5105caf"

  @Test func `Tokens of other apps, of pages, invalid and expired ones are refused`() async throws {
    for data: [String: JSONValue] in [
      ["app_id": "other"], ["app_id": .null], ["is_valid": false], ["is_valid": .null], ["type": "PAGE"],
      ["user_id": .null], ["expires_at": .integer(bench.seconds)],
    ] {
      answer(data)
      #expect(await refusal(access: "EAAB")?.code == .invalidIDPResponse, "\(data)")
    }
    answer([:], ["id": "78"])
    #expect(await refusal(access: "EAAB")?.message.contains("another user") == true)
    answer([:], ["bio": .text(String(repeating: "x", count: 20_000))])
    #expect(await refusal(access: "EAAB")?.message.contains("too long") == true)
    answer()
    bench.answer("\(Self.graph)/debug_token", status: 400, ["error": ["code": 100]])
    #expect(await refusal(access: "EAAB")?.code == .invalidIDPResponse)
  }

  @Test func `Facebook out of order, or asked too often, says nothing of a token`() async throws {
    answer()
    for error: JSONValue in [["code": 4], ["code": 613], ["code": 100, "is_transient": true]] {
      bench.answer("\(Self.graph)/debug_token", status: 400, ["error": error])
      let refusal = await refusal(access: "EAAB")
      #expect(refusal?.reason == "PROVIDER_UNREACHABLE" && refusal?.retryAfter != nil, "\(error)")
    }
  }

  @Test func `A provider that hangs has its own places for questions, and no others`() {
    let places = ProviderPlaces()
    #expect((0..<ProfileFetch.maxAtOnce).allSatisfy { _ in places.take(of: "facebook.com") })
    #expect(!places.take(of: "facebook.com") && places.take(of: "google.com"))
    places.giveBack(of: "facebook.com")
    #expect(places.take(of: "facebook.com"))
  }

  @Test func `A secret that is missing or wrong is the operator's to mend`() async throws {
    answer()
    let without = await ProviderBench.facebook(bench.context()).refusal(
      IDPCredential("facebook.com", accessToken: "EAAB"), at: bench.now)
    #expect(without?.reason == "PROVIDER_SECRET" && without?.code == .internalError)
    bench.answer("\(Self.graph)/debug_token", status: 400, ["error": ["code": 190]])
    #expect(await refusal(access: "EAAB")?.reason == "PROVIDER_SECRET")
  }

  @Test func `Limited Login brings an ID token, with Apple's rule for nonces`() async throws {
    for (nonce, error): (String?, APIError?) in [("raw", nil), ("other", .wrongNonce), (nil, .nonceMissing)] {
      let credential = IDPCredential("facebook.com", try bench.facebookToken(), nonce: nonce)
      #expect(await facebook.refusal(credential, at: bench.now) == error)
    }
    let bare = IDPCredential("facebook.com", try bench.facebookToken(["nonce": .null]), nonce: "raw")
    #expect(await facebook.refusal(bare, at: bench.now) == .wrongNonce)
    let identity = try await facebook.verify(
      IDPCredential("facebook.com", bench.facebookToken(["email_verified": true]), nonce: "raw"),
      for: ProviderBench.project, at: bench.now)
    #expect(identity.subject == "77" && !identity.isEmailVerified && identity.countsOnce == nil)
    let other = IDPCredential("facebook.com", try bench.facebookToken(["aud": "1"]), nonce: "raw")
    #expect(await facebook.refusal(other, at: bench.now)?.code == .invalidIDPResponse)
  }
}
