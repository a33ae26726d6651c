import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Gateway

@Suite struct ProviderCallTests {
  private static let signIn = CallFixture.v1 + "accounts:signInWithIdp"
  private static let revoke = CallFixture.v2 + "accounts:revokeToken"
  private static let google = "providerId=google.com&id_token=eyJ.b.c"
  private static let secrets = ["eyJ.b.c", "access-1", "nonce-1", "Ada", "pending-1", "eyJ.a.b", "code-1"]

  private static var identity: SignedInIdentity {
    var identity = SignedInIdentity(providerID: "apple.com", federatedID: "001.a")
    (identity.email, identity.emailVerified, identity.displayName) = ("ada@example.com", true, "Ada King")
    (identity.fullName, identity.photoURL) = ("Ada King", "https://example.com/ada.png")
    (identity.rawUserInfo, identity.oauthIDToken) = (#"{"sub":"001.a"}"#, "eyJ.b.c")
    (identity.oauthAccessToken, identity.oauthExpiresIn) = ("access-1", 3600)
    return identity
  }

  /// A gateway whose accounts answers as it is told, and the credential that it has got last.
  private func fixture(
    _ answer: @escaping @Sendable (SignInWithIDP, IDPCredential, FakeServices.Asked) throws -> AccountSignedIn
  ) throws -> CallFixture {
    let fixture = try CallFixture(
      methods: [.phone, .provider("apple.com"), .provider("google.com"), .provider("facebook.com")])
    fixture.services.on(SignInWithIDP.self) { command, asked in
      try answer(command, IDPCredential(text: Secret(asked.open(command.credential))), asked)
    }
    return fixture
  }

  private static func signedIn(
    _ command: SignInWithIDP, _ asked: FakeServices.Asked, isNewUser: Bool = true
  ) throws -> AccountSignedIn {
    var reply = try asked.signedIn(to: command.replyKey)
    reply.isNewUser = isNewUser
    reply.identity = try asked.seal(identity.text().reveal(), to: command.replyKey)
    return reply
  }

  private func json(_ postBody: String, _ more: String = "") -> String {
    let escaped = postBody.replacing("\"", with: #"\""#)
    return #"{"requestUri":"http://localhost","returnSecureToken":true,"postBody":"\#(escaped)"\#(more)}"#
  }

  @Test(arguments: [signIn, CallFixture.v3 + "verifyAssertion"])
  func `A credential signs in, under both names`(path: String) async throws {
    let fixture = try fixture { command, credential, asked in
      var expected = IDPCredential(providerID: "apple.com")
      (expected.idToken, expected.accessToken, expected.nonce) = ("eyJ.b.c", "access-1", "nonce-1")
      expected.user = #"{"name":{"firstName":"Ada"}}"#
      #expect(credential == expected)
      #expect(command.project == "example" && command.app == "com.example.push" && command.client?.ip == "192.0.2.1")
      #expect(command.idToken == nil && command.autoCreate == nil && command.returnIDPCredential == true)
      return try Self.signedIn(command, asked)
    }
    // The JavaScript SDK's form begins with an ampersand and is escaped, the Apple SDK's is not.
    for form in [
      "&id_token=eyJ.b.c&access_token=access-1&providerId=apple.com&nonce=nonce-1&user=%7B%22name%22%3A%7B%22firstName%22%3A%22Ada%22%7D%7D",
      #"providerId=apple.com&id_token=eyJ.b.c&nonce=nonce-1&access_token=access-1&user={"name":{"firstName":"Ada"}}"#,
    ] {
      let answer = try await fixture.post(path, json(form, #","returnIdpCredential":true"#))
      #expect(
        answer == [
          "kind": "identitytoolkit#VerifyAssertionResponse", "providerId": "apple.com", "federatedId": "001.a",
          "email": "ada@example.com", "emailVerified": true, "displayName": "Ada King", "fullName": "Ada King",
          "photoUrl": "https://example.com/ada.png", "rawUserInfo": #"{"sub":"001.a"}"#, "oauthIdToken": "eyJ.b.c",
          "oauthAccessToken": "access-1", "oauthExpireIn": 3600, "localId": "local-1", "isNewUser": true,
          "idToken": "id-token", "refreshToken": "refresh-token", "expiresIn": "3600",
        ])
    }
    fixture.requireSealed(Self.secrets)
  }

  @Test func `A known user is not called new, and what the provider did not say is left out`() async throws {
    let fixture = try fixture { command, _, asked in
      var reply = try Self.signedIn(command, asked, isNewUser: false)
      let identity = SignedInIdentity(providerID: "google.com", federatedID: "1")
      reply.identity = try asked.seal(identity.text().reveal(), to: command.replyKey)
      return reply
    }
    let answer = try await fixture.post(Self.signIn, json(Self.google))
    #expect(
      answer.names == [
        "kind", "providerId", "federatedId", "localId", "idToken", "refreshToken", "expiresIn",
      ])
  }

  @Test func `With an ID token the command links; flags are passed on`() async throws {
    let fixture = try fixture { command, _, asked in
      #expect(try asked.open(ifAny: command.idToken) == "eyJ.a.b")
      #expect(command.autoCreate == false && command.returnIDPCredential == false)
      return try Self.signedIn(command, asked)
    }
    let more = #","idToken":"eyJ.a.b","autoCreate":false,"returnIdpCredential":false"#
    #expect(try await fixture.post(Self.signIn, json(Self.google, more))["localId"] == "local-1")
  }

  @Test func `A pending token alone counts, whatever comes with it`() async throws {
    let fixture = try fixture { command, credential, asked in
      var expected = IDPCredential()
      expected.pendingToken = "pending-1"
      #expect(credential == expected)
      return try Self.signedIn(command, asked)
    }
    for json in [
      #"{"requestUri":"http://localhost","pendingToken":"pending-1"}"#,
      json(Self.google, #","pendingToken":"pending-1""#), json("", #","pending_token":"pending-1""#),
    ] {
      #expect(try await fixture.post(Self.signIn, json)["localId"] == "local-1")
    }
  }

  @Test(arguments: [APIErrorCode.identityAlreadyLinked, .emailExists, .userNotFound])
  func `A refused credential is answered 200, with the credential and without tokens`(code: APIErrorCode) async throws {
    let fixture = try fixture { command, _, asked in
      var reply = AccountSignedIn()
      reply.refusal = code
      reply.identity = try asked.seal(Self.identity.text().reveal(), to: command.replyKey)
      reply.pendingToken = try asked.seal("pending-1", to: command.replyKey)
      return reply
    }
    let answer = try await fixture.post(Self.signIn, json("providerId=apple.com&id_token=eyJ.b.c"))
    #expect(answer["errorMessage"]?.text == code.rawValue)
    #expect(answer["pendingToken"] == "pending-1" && answer["oauthIdToken"] == "eyJ.b.c")
    #expect(answer["providerId"] == "apple.com" && answer["email"] == "ada@example.com")
    #expect(answer.names.isDisjoint(with: ["localId", "idToken", "refreshToken", "isNewUser", "needConfirmation"]))
  }

  @Test func `An address that is not vouched for is answered with the ways to confirm it`() async throws {
    let fixture = try fixture { command, _, asked in
      var reply = AccountSignedIn()
      (reply.needsConfirmation, reply.verifiedProviders) = (true, ["google.com", "phone"])
      reply.identity = try asked.seal(Self.identity.text().reveal(), to: command.replyKey)
      return reply
    }
    let answer = try await fixture.post(Self.signIn, json("providerId=facebook.com&access_token=access-1"))
    #expect(answer["needConfirmation"] == true && answer["verifiedProvider"] == ["google.com", "phone"])
    #expect(answer["oauthAccessToken"] == "access-1" && answer["email"] == "ada@example.com")
    #expect(answer.names.isDisjoint(with: ["localId", "idToken", "errorMessage", "pendingToken"]))
  }

  @Test(
    arguments: [
      (APIError(.invalidIDPResponse, "The audience is not this project's."), ": The audience is not this project's."),
      (APIError(.invalidIDPResponse, ""), ""), (APIError(.missingOrInvalidNonce, "x"), ""),
      (
        APIError(.missingOrInvalidNonce, "Nonce is missing in the request.", reason: "NONCE_MISSING"),
        ": Nonce is missing in the request."
      ),
      (APIError(.invalidPendingToken, "x"), ""), (APIError(.invalidProviderID, "x"), ""),
      (APIError(.identityAlreadyLinked, "x"), ""), (APIError(.emailExists, "x"), ""),
    ])
  func `An error is the protocol's`(error: APIError, text: String) async throws {
    let fixture = try fixture { _, _, _ in AccountSignedIn() }
    fixture.services.refuse(SignInWithIDP.self, error)
    let refusal = try await fixture.refusal(Self.signIn, json(Self.google))
    #expect(refusal.status == 400 && refusal.message == error.code.rawValue + (text.isEmpty ? "" : " \(text)"))
  }

  @Test(
    arguments: [
      (#"{}"#, "MISSING_REQUEST_URI"), (#"{"requestUri":"localhost"}"#, "INVALID_REQUEST_URI"),
      (#"{"requestUri":"http://localhost"}"#, "INVALID_CREDENTIAL_OR_PROVIDER_ID : Invalid IdP response/credential."),
      (
        #"{"requestUri":"http://localhost","postBody":"providerId=google.com"}"#,
        "INVALID_CREDENTIAL_OR_PROVIDER_ID : Invalid IdP response/credential."
      ),
      (
        #"{"requestUri":"http://localhost","postBody":"id_token=eyJ.b.c"}"#,
        "INVALID_CREDENTIAL_OR_PROVIDER_ID : Invalid IdP response/credential."
      ),
      (
        #"{"requestUri":"http://localhost","postBody":"providerId=twitter.com&access_token=access-1"}"#,
        "OPERATION_NOT_ALLOWED : The identity provider configuration is not found."
      ),
    ])
  func `What is missing or off is refused before anything is asked`(json: String, message: String) async throws {
    let fixture = try fixture { _, _, _ in AccountSignedIn() }
    #expect(try await fixture.unasked(Self.signIn, json).message == message)
  }

  /// The claims of a user; the same with the algorithm `none`; an access token that is such a text.
  @Test(
    arguments: [
      #"id_token={"sub":"1"}"#, "id_token=eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", #"access_token={"sub":"1"}"#,
    ])
  func `A token for the emulator is refused to clients elsewhere`(token: String) async throws {
    let fixture = try CallFixture(isDevelopment: true, methods: [.provider("google.com")], emulatorTokens: true)
    let error = try await fixture.unasked(Self.signIn, json("providerId=google.com&\(token)"))
    #expect(error.message.hasPrefix("INVALID_IDP_RESPONSE : "))
  }

  @Test func `Tenants are not offered`() async throws {
    let fixture = try fixture { _, _, _ in AccountSignedIn() }
    let json = #"{"requestUri":"http://localhost","postBody":"providerId=google.com&id_token=t","tenantId":"t"}"#
    #expect(try await fixture.refusal(Self.signIn, json).status == 501)
    #expect(fixture.services.messages.isEmpty)
  }

  @Test func `What is too long or too much is refused`() async throws {
    let fixture = try fixture { _, _, _ in AccountSignedIn() }
    let long = String(repeating: "a", count: 17_000)
    for (form, message) in [
      ("providerId=\(long.prefix(257))&id_token=t", "INVALID_PROVIDER_ID"),
      ("providerId=google.com&id_token=\(long)", "INVALID_IDP_RESPONSE"),
      ("providerId=google.com&access_token=\(long)", "INVALID_IDP_RESPONSE"),
      ("providerId=google.com&id_token=t&user=\(long)", "INVALID_IDP_RESPONSE"),
      ("providerId=google.com&id_token=t&nonce=\(long.prefix(257))", "MISSING_OR_INVALID_NONCE"),
      ("providerId=google.com&id_token=t&x=\(long)\(long)", "INVALID_CREDENTIAL_OR_PROVIDER_ID"),
      (String(repeating: "&", count: 50) + Self.google, "Invalid JSON payload received."),
      ("providerId=google.com&id_token=%00", "Invalid JSON payload received."),
    ] {
      #expect(try await fixture.unasked(Self.signIn, json(form)).message.hasPrefix(message), "\(message)")
    }
    let pending = #"{"requestUri":"http://localhost","pendingToken":"\#(long)"}"#
    #expect(try await fixture.unasked(Self.signIn, pending).message == "INVALID_PENDING_TOKEN")
  }

  @Test func `A reply that says nothing, or an unknown refusal, is our failure`() async throws {
    for refusal in [nil, APIErrorCode(rawValue: "NEW_CODE"), .internalError] {
      let fixture = try fixture { _, _, _ in
        var reply = AccountSignedIn()
        reply.refusal = refusal
        return reply
      }
      #expect(try await fixture.refusal(Self.signIn, json(Self.google)).status == 500)
    }
  }

  // MARK: revokeToken

  @Test(
    arguments: [
      (#""REFRESH_TOKEN""#, AppleToken.Kind.refreshToken), ("1", .refreshToken), (#""ACCESS_TOKEN""#, .accessToken),
      (#""2""#, .accessToken), (#""CODE""#, .authorizationCode), (#""3""#, .authorizationCode),
    ])
  func `A token is revoked, its type by name or number`(type: String, kind: AppleToken.Kind) async throws {
    let fixture = try CallFixture()
    fixture.services.on(RevokeToken.self) { command, asked throws in
      #expect(command.project == "example" && command.app == "com.example.push" && command.providerID == "apple.com")
      #expect(command.tokenType == kind && command.redirectURI == "https://example.com/")
      #expect(try asked.open(command.token) == "code-1" && asked.open(command.idToken) == "eyJ.a.b")
      return TokenRevoked(localID: "local-1", operationID: "o")
    }
    let answer = try await fixture.post(
      Self.revoke,
      #"{"providerId":"apple.com","tokenType":\#(type),"token":"code-1","idToken":"eyJ.a.b","redirectUri":"https://example.com/"}"#
    )
    #expect(answer == [:])
    fixture.requireSealed(Self.secrets)
  }

  @Test(
    arguments: [
      (#"{"providerId":"apple.com","tokenType":3,"token":"c"}"#, "MISSING_ID_TOKEN"),
      (#"{"idToken":"t","tokenType":3,"token":"c"}"#, "INVALID_PROVIDER_ID"),
      (#"{"idToken":"t","providerId":"apple.com","token":"c"}"#, "Invalid JSON payload received."),
      (#"{"idToken":"t","providerId":"apple.com","tokenType":0,"token":"c"}"#, "Invalid JSON payload received."),
      (#"{"idToken":"t","providerId":"apple.com","tokenType":4,"token":"c"}"#, "Invalid JSON payload received."),
      (#"{"idToken":"t","providerId":"apple.com","tokenType":3}"#, "Invalid JSON payload received."),
    ])
  func `What a revocation lacks is named`(json: String, message: String) async throws {
    #expect(try await CallFixture().unasked(Self.revoke, json).message.hasPrefix(message))
  }

  @Test(
    arguments: [
      (APIError(.internalError, "x", retryAfter: 5), 503, "The service is currently unavailable."),
      (
        APIError(.invalidArgument, "x", field: "token"), 400,
        "Invalid JSON payload received. Invalid value at 'token': must be shorter, and without control characters."
      ),
      (
        APIError(.operationNotAllowed, "x", reason: "UNKNOWN_CLIENT"), 400,
        "OPERATION_NOT_ALLOWED : Team, key ID and key of Sign in with Apple are not configured for this app."
      ),
    ])
  func `A revocation that is not decided, or cannot be asked for, is told`(
    refusal: APIError, status: Int, message: String
  ) async throws {
    let fixture = try CallFixture()
    fixture.services.refuse(RevokeToken.self, refusal)
    let error = try await fixture.refusal(
      Self.revoke, #"{"idToken":"t","providerId":"apple.com","tokenType":3,"token":"c"}"#)
    #expect(error.status == status && error.message == message && error.retryAfter == refusal.retryAfter)
  }
}
