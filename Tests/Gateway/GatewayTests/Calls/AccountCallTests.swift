import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Gateway

@Suite struct AccountCallTests {
  private static let v1 = CallFixture.v1 + "accounts:"
  private static let v3 = CallFixture.v3

  private static var account: AccountView {
    var account = AccountView(
      localID: "local-1", createdAt: UnixTime(milliseconds: 1_782_907_200_123),
      lastLoginAt: UnixTime(milliseconds: 1_782_907_300_456), validSince: UnixTime(milliseconds: 1_782_907_200_999))
    account.displayName = "Ada \"L\"\n"
    account.photoURL = "https://example.com/a.png"
    account.phoneNumber = "+14155550123"
    account.lastRefreshAt = UnixTime(seconds: 1_782_907_400)
    return account
  }

  private static let phone: JSONValue = [
    "providerId": "phone", "rawId": "+14155550123", "phoneNumber": "+14155550123",
  ]

  @Test(arguments: [v1 + "signUp", v3 + "signupNewUser"])
  func `An anonymous account is made, under both names`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(SignUp.self) { command, asked in
      #expect(command.project == "example" && command.client?.ip == "192.0.2.1")
      var reply = try asked.signedIn(to: command.replyKey)
      reply.isNewUser = true
      return reply
    }
    // Tokens in any case: v1 does not know the field here, and an account that nobody can sign in to is of no use.
    for json in [#"{"returnSecureToken":true,"unknown":{"a":[1]}}"#, #"{"returnSecureToken":false}"#, "{}"] {
      let answer = try await fixture.post(path, json, withApp: false)
      #expect(
        answer == [
          "kind": "identitytoolkit#SignupNewUserResponse", "localId": "local-1", "idToken": "id-token",
          "refreshToken": "refresh-token", "expiresIn": "3600",
        ])
    }
  }

  @Test(
    arguments: [
      ("localId", #""chosen""#, "User ID"), ("phoneNumber", #""+14155550123""#, "Phone number"),
      ("disabled", "true", "Disabled"), ("mfaInfo", "[]", "Second factors"),
    ])
  func `What administrators alone may give an account is refused`(field: String, value: String, text: String)
    async throws
  {
    let json = #"{"returnSecureToken":true,"\#(field)":\#(value)}"#
    #expect(try await CallFixture().unasked(Self.v1 + "signUp", json).message == "UNEXPECTED_PARAMETER : \(text)")
  }

  @Test(arguments: [v1 + "lookup", v3 + "getAccountInfo"])
  func `A user is shown with all fields, under both names`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(LookUpAccount.self) { command, asked throws in
      #expect(try asked.open(command.idToken) == "eyJ.a.b")
      return AccountFound(account: Self.account)
    }
    let answer = try await fixture.post(path, #"{"idToken":"eyJ.a.b"}"#)
    let user: JSONValue = [
      "localId": "local-1", "displayName": "Ada \"L\"\n", "photoUrl": "https://example.com/a.png",
      "phoneNumber": "+14155550123", "providerUserInfo": [Self.phone], "createdAt": "1782907200123",
      "lastLoginAt": "1782907300456", "lastRefreshAt": "2026-07-01T12:03:20Z", "validSince": "1782907200",
    ]
    #expect(answer == ["kind": "identitytoolkit#GetAccountInfoResponse", "users": [user]])
  }

  @Test func `A user's identities are listed, and then the number`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(LookUpAccount.self) { _, _ in
      var account = Self.account
      (account.email, account.emailVerified) = ("ada@example.com", true)
      var apple = IdentityView(providerID: "apple.com", subject: "001.a", linkedAt: CallFixture.now)
      (apple.email, apple.displayName, apple.photoURL) = ("a@privaterelay.appleid.com", "Ada", "https://e.example/a")
      account.identities = [apple, IdentityView(providerID: "google.com", subject: "1", linkedAt: CallFixture.now)]
      return AccountFound(account: account)
    }
    let user = try await fixture.post(Self.v1 + "lookup", #"{"idToken":"eyJ.a.b"}"#)["users"]?[0]
    #expect(user?["email"] == "ada@example.com" && user?["emailVerified"] == true)
    #expect(
      user?["providerUserInfo"] == [
        [
          "providerId": "apple.com", "rawId": "001.a", "federatedId": "001.a", "email": "a@privaterelay.appleid.com",
          "displayName": "Ada", "photoUrl": "https://e.example/a",
        ], ["providerId": "google.com", "rawId": "1", "federatedId": "1"], Self.phone,
      ])
  }

  @Test func `An anonymous user has nothing that it has not; a disabled one is called so`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(LookUpAccount.self) { _, _ in
      let time = CallFixture.now
      var account = AccountView(localID: "local-2", createdAt: time, lastLoginAt: time, validSince: time)
      account.disabled = true
      return AccountFound(account: account)
    }
    let user = try await fixture.post(Self.v1 + "lookup", #"{"id_token":"eyJ.a.b"}"#)["users"]?[0]
    #expect(user?.names == ["localId", "createdAt", "lastLoginAt", "validSince", "disabled"])
    #expect(user?["disabled"] == true)
  }

  @Test(arguments: [v1 + "update", v3 + "setAccountInfo"])
  func `A profile is changed, under both names`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(UpdateAccount.self) { command, asked throws in
      #expect(try asked.open(command.idToken) == "eyJ.a.b" && command.displayName == "Ada" && command.photoURL == "")
      return AccountChanged(account: Self.account)
    }
    let answer = try await fixture.post(
      path, #"{"idToken":"eyJ.a.b","displayName":"Ada","photoUrl":"","returnSecureToken":true}"#)
    #expect(
      answer == [
        "kind": "identitytoolkit#SetAccountInfoResponse", "localId": "local-1", "displayName": "Ada \"L\"\n",
        "photoUrl": "https://example.com/a.png", "providerUserInfo": [Self.phone],
      ])
  }

  @Test(
    arguments: [
      (#""deleteAttribute":["DISPLAY_NAME","PHOTO_URL"]"#, ["DISPLAY_NAME", "PHOTO_URL"], nil),
      (#""deleteAttribute":[4,"2"]"#, ["DISPLAY_NAME", "PHOTO_URL"], nil),
      (#""delete_attribute":["EMAIL","PASSWORD"]"#, ["EMAIL", "PASSWORD"], nil),
      (#""deleteProvider":["phone"]"#, nil, ["phone"]),
      (
        #""deleteProvider":["phone","apple.com","","\#(String(repeating: "p", count: 257))"]"#, nil,
        ["phone", "apple.com"]
      ),
      (#""displayName":null,"photoUrl":null"#, nil, nil),
    ] as [(String, JSONValue?, JSONValue?)])
  func `Attributes and providers are deleted by name or number`(
    fields: String, attributes: JSONValue?, providers: JSONValue?
  ) async throws {
    let fixture = try CallFixture()
    fixture.services.on(UpdateAccount.self) { _, _ in AccountChanged(account: Self.account) }
    let answer = try await fixture.post(Self.v1 + "update", #"{"idToken":"eyJ.a.b",\#(fields)}"#)
    let body = try #require(fixture.services.bodies.first)
    #expect(body["deleteAttributes"] == attributes && body["deleteProviders"] == providers)
    #expect(body["displayName"] == nil && body["photoURL"] == nil)
    #expect(answer["idToken"] == nil)
  }

  @Test func `Unknown attributes are refused`() async throws {
    let json = #"{"idToken":"t","deleteAttribute":["SOUL"]}"#
    #expect(try await CallFixture().unasked(Self.v1 + "update", json).word == "INVALID_ARGUMENT")
  }

  @Test func `A name that accounts refuses is the client's mistake`() async throws {
    let fixture = try CallFixture()
    fixture.services.refuse(
      UpdateAccount.self, APIError(.invalidArgument, "displayName is longer", field: "displayName"))
    let error = try await fixture.refusal(Self.v1 + "update", #"{"idToken":"t","displayName":"x"}"#)
    #expect(error.status == 400 && error.message.contains("'displayName'"))
  }

  @Test(arguments: [v1 + "delete", v3 + "deleteAccount"])
  func `An account is deleted, under both names`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(DeleteAccount.self) { command, asked throws in
      #expect(try asked.open(command.idToken) == "eyJ.a.b")
      return AccountDeleted(project: command.project, localID: "local-1", deletedAt: CallFixture.now)
    }
    // The Apple SDK sends the ID of the account too; only the token counts.
    let answer = try await fixture.post(path, #"{"idToken":"eyJ.a.b","localId":"local-2"}"#)
    #expect(answer == ["kind": "identitytoolkit#DeleteAccountResponse"])
    #expect(fixture.services.bodies.first?.names == ["project", "idToken"])
  }

  @Test(arguments: ["lookup", "update", "delete"])
  func `Without an ID token nothing is asked`(call: String) async throws {
    for (json, message) in [
      (#"{}"#, "MISSING_ID_TOKEN"), (#"{"idToken":"","localId":"local-1"}"#, "MISSING_ID_TOKEN"),
      (#"{"idToken":"\#(String(repeating: "e", count: 17_000))"}"#, "INVALID_ID_TOKEN"),
      (#"{"localId":["local-1"],"email":["a@example.com"]}"#, "MISSING_ID_TOKEN"),
    ] {
      #expect(try await CallFixture().unasked(Self.v1 + call, json).message.hasPrefix(message))
    }
  }
}
