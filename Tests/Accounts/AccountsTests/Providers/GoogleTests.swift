import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("Google") struct GoogleTests {
  static let info = "https://oauth2.googleapis.com/tokeninfo"
  static let profile = "https://openidconnect.googleapis.com/v1/userinfo"

  let bench: ProviderBench
  let google: any IdentityProvider

  init() throws {
    bench = try ProviderBench()
    bench.publish(at: ProviderBench.googleKeys)
    google = ProviderBench.google(bench.context())
  }

  private func verify(_ token: String?, access: String? = nil, nonce: String? = nil) async throws -> ProvenIdentity {
    try await google.verify(
      IDPCredential("google.com", token, accessToken: access, nonce: nonce), for: ProviderBench.project, at: bench.now)
  }

  private func refusal(_ token: String?, access: String? = nil, nonce: String? = nil) async -> APIError? {
    await google.refusal(IDPCredential("google.com", token, accessToken: access, nonce: nonce), at: bench.now)
  }

  private func answer(_ info: [String: JSONValue] = [:], _ profile: [String: JSONValue] = [:]) {
    let facts: [String: JSONValue] = [
      "aud": "one.apps.example", "azp": "one.apps.example", "sub": "1085", "exp": .text("\(bench.seconds + 600)"),
    ]
    bench.answer(Self.info, .object(facts.merging(info) { $1 }.filter { $0.value != .null }))
    bench.answer(
      Self.profile, .object(["sub": "1085", "email": "a@gmail.com", "email_verified": true].merging(profile) { $1 }))
  }

  @Test func `A token proves the subject and the profile, and may come again`() async throws {
    let identity = try await verify(bench.googleToken())
    #expect(identity.subject == "1085" && identity.displayName == "A User" && identity.givenName == "A")
    #expect(identity.familyName == "User" && identity.photoURL == "https://lh3.example/a")
    #expect(identity.isEmailVerified && identity.isEmailBelieved && identity.countsOnce == nil)
    #expect(try await verify(bench.googleToken(["iss": "accounts.google.com"])).subject == "1085")
    #expect(try await verify(bench.googleToken(["picture": "javascript:x"])).photoURL == nil)
  }

  @Test func `An address is believed where Google runs its mailbox`() async throws {
    for (email, hd, verified, isBelieved): (JSONValue, JSONValue, JSONValue, Bool) in [
      ("a@gmail.com", .null, true, true), ("a@GoogleMail.com", .null, true, true),
      ("a@example.com", "example.com", true, true), ("a@example.com", .null, true, false),
      ("a@gmail.com", .null, false, false), ("a@example.com", "example.com", false, false),
      ("a@gmail.com.example.com", .null, true, false), (.null, .null, true, false), ("@gmail.com", .null, true, false),
    ] {
      let identity = try await verify(bench.googleToken(["email": email, "hd": hd, "email_verified": verified]))
      #expect(identity.isEmailBelieved == isBelieved, "\(email) \(hd) \(verified)")
    }
  }

  @Test func `Audience and authorized party are clients of the project`() async throws {
    #expect(try await verify(bench.googleToken(["aud": "two.apps.example", "azp": .null])).subject == "1085")
    #expect(await refusal(try bench.googleToken(["aud": "other"]))?.message.contains("audience") == true)
    #expect(await refusal(try bench.googleToken(["azp": "other"]))?.message.contains("azp") == true)
    #expect(await refusal(try bench.googleToken(["aud": "com.example.app"]))?.code == .invalidIDPResponse)
  }

  @Test func `A nonce counts where the app sends one, as it is or hashed`() async throws {
    let hash = ProviderNonce.hash("raw")
    for (claim, raw, error): (JSONValue, String?, APIError?) in [
      ("raw", "raw", nil), (.text(hash), "raw", nil), ("other", "raw", .wrongNonce), (.null, "raw", .wrongNonce),
      ("drawn by a library", nil, nil), ("x", "", nil),
    ] {
      #expect(await refusal(try bench.googleToken(["nonce": claim]), nonce: raw) == error)
    }
  }

  @Test func `An access token alone is asked about, and then for the profile`() async throws {
    answer()
    let identity = try await verify(nil, access: "ya29 +&secret")
    #expect(identity.subject == "1085" && identity.email == "a@gmail.com" && identity.isEmailBelieved)
    #expect(identity.oauthExpiresIn == 600 && identity.oauthAccessToken?.reveal() == "ya29 +&secret")
    #expect(bench.urls == ["\(Self.info)?access_token=ya29+%2B%26secret", Self.profile])
    #expect(!bench.logs.lines().contains { $0.contains("secret") })
  }

  @Test func `An access token of another app, another user or another time is refused`() async throws {
    for info: [String: JSONValue] in [
      ["aud": "other"], ["aud": .null], ["azp": "other"], ["exp": .integer(bench.seconds)], ["exp": .null],
      ["sub": "other"],
    ] {
      answer(info)
      #expect(await refusal(nil, access: "token")?.code == .invalidIDPResponse, "\(info)")
    }
    answer([:], ["sub": .null])
    #expect(await refusal(nil, access: "token")?.code == .invalidIDPResponse)
    answer()
    bench.answer(Self.profile, status: 401, [:])
    #expect(await refusal(nil, access: "token")?.code == .invalidIDPResponse)
    bench.answer(Self.info, status: 400, ["error": "invalid_token"])
    #expect(await refusal(nil, access: "token")?.code == .invalidIDPResponse)
    #expect(await refusal(nil, access: String(repeating: "x", count: 5000))?.message.contains("too long") == true)
    #expect(await refusal(nil)?.code == .invalidIDPResponse)
  }

  @Test func `A provider that does not answer costs a time to wait, not the credential`() async throws {
    for status in [500, 503, 429, 302] {
      bench.answer(Self.info, status: status, [:])
      let error = await refusal(nil, access: "token")
      #expect(error?.code == .internalError && error?.reason == "PROVIDER_UNREACHABLE" && error?.retryAfter == 10)
    }
    bench.answer(Self.info, ["list"])
    #expect(await refusal(nil, access: "token")?.reason == "PROVIDER_UNREACHABLE")
    let fetches = bench.metrics.render()
    #expect(fetches.contains(#"countersign_provider_profile_fetches_total{provider="google.com",outcome="status"} 4"#))
  }
}
