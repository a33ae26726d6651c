import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Gateway

/// First factors of an account that has second ones, at each call that signs in.
@Suite struct PendingSignInTests {
  private static let methods: Set<Project.Method> = [
    .phone, .anonymous, .password, .emailLink, .custom, .provider("google.com"),
  ]

  static var factors: [SecondFactorView] {
    var phone = SecondFactorView(
      enrollmentID: "factor-1", kind: .phone, enrolledAt: UnixTime(milliseconds: 1_782_907_200_120))
    (phone.displayName, phone.phoneNumber) = ("Work", "+*******0100")
    return [phone, SecondFactorView(enrollmentID: "factor-2", kind: .totp, enrolledAt: CallFixture.now)]
  }

  static let shown: JSONValue = [
    [
      "mfaEnrollmentId": "factor-1", "displayName": "Work", "enrolledAt": "2026-07-01T12:00:00.120Z",
      "phoneInfo": "+*******0100",
    ],
    ["mfaEnrollmentId": "factor-2", "enrolledAt": "2026-07-01T12:00:00.000Z", "totpInfo": [:]],
  ]

  /// A reply that has what it must not have, too.
  private static func pending(_ asked: FakeServices.Asked, _ replyKey: String) throws -> AccountSignedIn {
    var identity = SignedInIdentity(providerID: "google.com", federatedID: "1")
    (identity.email, identity.displayName) = ("ada@example.com", "Ada")
    var reply = try asked.signedIn(to: replyKey)
    reply.pendingCredential = try asked.seal("pending-1", to: replyKey)
    reply.secondFactors = factors
    reply.identity = try asked.seal(identity.text().reveal(), to: replyKey)
    (reply.phoneNumber, reply.isNewUser) = ("+14155550100", false)
    return reply
  }

  private static let answer: [String: JSONValue] = [
    "localId": "local-1", "mfaPendingCredential": "pending-1", "mfaInfo": shown,
  ]

  @Test(
    arguments: [
      ("signInWithPhoneNumber", #"{"sessionInfo":"s","code":"1"}"#, [:]),
      (
        "signInWithPassword", #"{"email":"ada@example.com","password":"secret1"}"#,
        [
          "kind": "identitytoolkit#VerifyPasswordResponse", "email": "ada@example.com", "displayName": "Ada",
          "registered": true,
        ]
      ),
      (
        "signInWithEmailLink", #"{"email":"ada@example.com","oobCode":"c"}"#,
        ["kind": "identitytoolkit#EmailLinkSigninResponse", "email": "ada@example.com"]
      ),
      (
        "signInWithIdp", #"{"requestUri":"http://localhost","postBody":"providerId=google.com&id_token=eyJ.b.c"}"#,
        [
          "kind": "identitytoolkit#VerifyAssertionResponse", "providerId": "google.com", "federatedId": "1",
          "email": "ada@example.com", "displayName": "Ada",
        ]
      ),
      ("signInWithCustomToken", #"{"token":"eyJ.b.c"}"#, ["kind": "identitytoolkit#VerifyCustomTokenResponse"]),
      (
        "signUp", #"{"email":"ada@example.com","password":"secret1","idToken":"eyJ.a.b"}"#,
        ["kind": "identitytoolkit#SignupNewUserResponse", "email": "ada@example.com", "displayName": "Ada"]
      ),
    ] as [(String, String, [String: JSONValue])])
  func `A first factor is answered with a pending credential, never with tokens or a number in full`(
    call: String, json: String, identity: [String: JSONValue]
  ) async throws {
    let fixture = try CallFixture(methods: Self.methods)
    fixture.services.on(SignInWithPhone.self) { command, asked in try Self.pending(asked, command.replyKey) }
    fixture.services.on(SignInWithPassword.self) { command, asked in try Self.pending(asked, command.replyKey) }
    fixture.services.on(SignInWithMailLink.self) { command, asked in try Self.pending(asked, command.replyKey) }
    fixture.services.on(SignInWithIDP.self) { command, asked in try Self.pending(asked, command.replyKey) }
    fixture.services.on(SignInWithCustomToken.self) { command, asked in try Self.pending(asked, command.replyKey) }
    fixture.services.on(SignUp.self) { command, asked in try Self.pending(asked, command.replyKey) }
    let answer = try await fixture.post(CallFixture.v1 + "accounts:\(call)", json)
    #expect(answer == .object(Self.answer.merging(identity) { $1 }))
    #expect(!fixture.log.contains("pending-1"))
  }

  @Test func `A pending credential without second factors is our failure`() async throws {
    let fixture = try CallFixture(methods: Self.methods)
    for factors in [nil, []] as [[SecondFactorView]?] {
      fixture.services.on(SignInWithPassword.self) { command, asked in
        var reply = try Self.pending(asked, command.replyKey)
        reply.secondFactors = factors
        return reply
      }
      let error = try await fixture.refusal(
        CallFixture.v1 + "accounts:signInWithPassword", #"{"email":"ada@example.com","password":"secret1"}"#)
      #expect(error.status == 500)
    }
  }

  @Test func `A look-up shows the user's second factors, and leaves them out where there are none`() async throws {
    let fixture = try CallFixture()
    var factors = Self.factors
    factors[0].phoneNumber = "+14155550100"
    for factors in [nil, [], factors] as [[SecondFactorView]?] {
      fixture.services.on(LookUpAccount.self) { _, _ in
        var account = AccountView(
          localID: "local-1", createdAt: CallFixture.now, lastLoginAt: CallFixture.now, validSince: CallFixture.now)
        account.secondFactors = factors
        return AccountFound(account: account)
      }
      let user = try await fixture.post(CallFixture.v1 + "accounts:lookup", #"{"idToken":"t"}"#)["users"]?[0]
      let shown = user?["mfaInfo"]
      #expect(shown?[0]?["phoneInfo"] == factors?.first.map { _ in "+14155550100" })
      #expect(shown?[1]?["totpInfo"] == factors?.first.map { _ in [:] })
      #expect((shown == nil) == (factors ?? []).isEmpty)
    }
  }
}
