import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Gateway

@Suite struct PasswordCallTests {
  private static let v1 = CallFixture.v1 + "accounts:"
  private static let v3 = CallFixture.v3

  private static func signedIn(_ asked: FakeServices.Asked, _ replyKey: String) throws -> AccountSignedIn {
    var identity = SignedInIdentity(providerID: "password", federatedID: "ada@example.com")
    (identity.email, identity.displayName) = ("ada@example.com", "Ada")
    var reply = try asked.signedIn(to: replyKey)
    reply.identity = try asked.seal(identity.text().reveal(), to: replyKey)
    return reply
  }

  private static func credential(_ text: String) throws -> PasswordCredential {
    try PasswordCredential(text: Secret(text))
  }

  @Test(arguments: [v1 + "signUp", v3 + "signupNewUser"])
  func `An account with a password is made, or an account gets one`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(SignUp.self) { command, asked in
      let credential = try Self.credential(asked.open(try #require(command.credential)))
      #expect(credential.email == "Ada@example.com" && credential.password == "secret1")
      #expect(credential.displayName == "Ada" && command.app == "com.example.push")
      let token = try asked.open(ifAny: command.idToken)
      #expect(token == nil || token == "eyJ.a.b")
      return try Self.signedIn(asked, command.replyKey)
    }
    for token in ["", #","idToken":"eyJ.a.b""#] {
      let answer = try await fixture.post(
        path, #"{"email":"Ada@example.com","password":"secret1","displayName":"Ada","captchaResponse":"x"\#(token)}"#)
      #expect(
        answer == [
          "kind": "identitytoolkit#SignupNewUserResponse", "localId": "local-1", "email": "ada@example.com",
          "displayName": "Ada", "idToken": "id-token", "refreshToken": "refresh-token", "expiresIn": "3600",
        ])
    }
    #expect(fixture.services.bodies.map { $0["idToken"] == nil } == [true, false])
    #expect(!fixture.log.contains("secret1"))
  }

  @Test func `With an ID token alone there is nothing to add`() async throws {
    let error = try await CallFixture().unasked(Self.v1 + "signUp", #"{"idToken":"eyJ.a.b"}"#)
    #expect(error.message == "OPERATION_NOT_ALLOWED")
  }

  @Test(arguments: [v1 + "signInWithPassword", v3 + "verifyPassword"])
  func `A password signs in`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(SignInWithPassword.self) { command, asked in
      let credential = try Self.credential(asked.open(command.credential))
      #expect(credential.email == "ada@example.com" && credential.password == "secret1")
      #expect(command.client?.ip == "192.0.2.1")
      return try Self.signedIn(asked, command.replyKey)
    }
    let answer = try await fixture.post(
      path, #"{"email":"ada@example.com","password":"secret1","returnSecureToken":true}"#)
    #expect(
      answer == [
        "kind": "identitytoolkit#VerifyPasswordResponse", "localId": "local-1", "email": "ada@example.com",
        "displayName": "Ada", "registered": true, "idToken": "id-token", "refreshToken": "refresh-token",
        "expiresIn": "3600",
      ])
  }

  @Test(
    arguments: [
      (APIErrorCode.missingPassword, "MISSING_PASSWORD"), (.invalidLoginCredentials, "INVALID_LOGIN_CREDENTIALS"),
      (.emailNotFound, "EMAIL_NOT_FOUND"), (.weakPassword, "WEAK_PASSWORD : the rule"),
    ])
  func `Refusals keep their codes`(code: APIErrorCode, message: String) async throws {
    let fixture = try CallFixture()
    fixture.services.refuse(SignInWithPassword.self, APIError(code, "the rule"))
    let error = try await fixture.refusal(Self.v1 + "signInWithPassword", #"{"email":"ada@example.com"}"#)
    #expect(error.status == 400 && error.message == message)
  }

  @Test(arguments: [v1 + "createAuthUri", v3 + "createAuthUri"])
  func `The ways to sign in of an address are told`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(FindMethods.self) { command, asked in
      let email = try Self.credential(asked.open(command.credential)).email
      return email == "ada@example.com"
        ? MethodsFound(isRegistered: true, methods: ["password", "emailLink", "apple.com"]) : MethodsFound()
    }
    let answer = try await fixture.post(
      path, #"{"identifier":"ada@example.com","continueUri":"http://localhost","sessionId":"s"}"#)
    #expect(
      answer == [
        "kind": "identitytoolkit#CreateAuthUriResponse", "registered": true,
        "signinMethods": ["password", "emailLink", "apple.com"], "allProviders": ["password", "apple.com"],
        "sessionId": "s",
      ])
    let secret = try await fixture.post(path, #"{"identifier":"b@example.com","continueUri":"http://localhost"}"#)
    #expect(secret.names == ["kind", "sessionId"])
    for (json, message) in [
      ("{}", "MISSING_IDENTIFIER"), (#"{"identifier":"a@b.c"}"#, "MISSING_CONTINUE_URI"),
      (#"{"identifier":"a@b.c","continueUri":"x"}"#, "INVALID_CONTINUE_URI"),
    ] {
      #expect(try await fixture.refusal(path, json).message == message)
    }
  }

  @Test(arguments: [v1 + "signInWithCustomToken", v3 + "verifyCustomToken"])
  func `A custom token signs in`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(SignInWithCustomToken.self) { command, asked in
      #expect(try asked.open(command.token) == "eyJ.a.b")
      var reply = try asked.signedIn(to: command.replyKey)
      reply.isNewUser = true
      return reply
    }
    let answer = try await fixture.post(path, #"{"token":"eyJ.a.b","returnSecureToken":true}"#)
    #expect(
      answer == [
        "kind": "identitytoolkit#VerifyCustomTokenResponse", "isNewUser": true, "idToken": "id-token",
        "refreshToken": "refresh-token", "expiresIn": "3600",
      ])
    #expect(try await fixture.refusal(path, "{}").message == "MISSING_CUSTOM_TOKEN")
  }

  @Test func `A custom token without a signature is taken from this machine only`() async throws {
    let token = Base64URL.encode(Array(#"{"alg":"none","typ":"JWT"}"#.utf8)) + ".e30."
    // The fixture's request names no host of this machine.
    let error = try await CallFixture(isDevelopment: true).unasked(
      Self.v1 + "signInWithCustomToken", #"{"token":"\#(token)"}"#)
    #expect(error.message.hasPrefix("INVALID_CUSTOM_TOKEN : "))
  }

  @Test func `A change of address or password brings both tokens, of a seal bound to their key`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(UpdateAccount.self) { command, asked in
      #expect(try asked.open(command.idToken) == "eyJ.a.b")
      let credential = try Self.credential(asked.open(try #require(command.credential)))
      #expect(credential.email == nil && credential.password == "secret2")
      var account = AccountView(
        localID: "local-1", createdAt: CallFixture.now, lastLoginAt: CallFixture.now, validSince: CallFixture.now)
      (account.email, account.passwordChangedAt) = ("ada@example.com", CallFixture.now)
      var reply = AccountChanged(account: account)
      reply.tokens = try asked.tokens(to: try #require(command.replyKey))
      return reply
    }
    let answer = try await fixture.post(Self.v1 + "update", #"{"idToken":"eyJ.a.b","password":"secret2"}"#)
    let password: JSONValue = [
      "providerId": "password", "rawId": "ada@example.com", "federatedId": "ada@example.com",
      "email": "ada@example.com",
    ]
    #expect(
      answer == [
        "kind": "identitytoolkit#SetAccountInfoResponse", "localId": "local-1", "email": "ada@example.com",
        "providerUserInfo": [password], "passwordHash": "UkVEQUNURUQ=", "idToken": "id-token",
        "refreshToken": "refresh-token", "expiresIn": "3600",
      ])
  }

  @Test func `A user with a password and claims shows them`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(LookUpAccount.self) { _, _ in
      let time = CallFixture.now
      var account = AccountView(localID: "local-1", createdAt: time, lastLoginAt: time, validSince: time)
      (account.email, account.initialEmail, account.passwordChangedAt) = ("a@example.com", "b@example.com", time)
      (account.signsInByLink, account.customAttributes) = (true, #"{"admin":true}"#)
      return AccountFound(account: account)
    }
    let user = try await fixture.post(Self.v1 + "lookup", #"{"idToken":"eyJ.a.b"}"#)["users"]?[0]
    #expect(user?["passwordHash"] == "UkVEQUNURUQ=" && user?["passwordUpdatedAt"] == .integer(1_782_907_200_000))
    #expect(user?["emailLinkSignin"] == true && user?["customAttributes"] == #"{"admin":true}"#)
    #expect(user?["initialEmail"] == "b@example.com" && user?["providerUserInfo"]?[0]?["providerId"] == "password")
  }

  @Test func `The rules of passwords are told as SDKs check them`() async throws {
    let answer = try await CallFixture().get(CallFixture.v2 + "passwordPolicy")
    #expect(answer["customStrengthOptions"] == ["minPasswordLength": 6, "maxPasswordLength": 4096])
    #expect(answer["enforcementState"] == "ENFORCE" && answer["schemaVersion"] == 1)
    #expect(answer["allowedNonAlphanumericCharacters"]?.array.count == 32)
  }
}
