import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct UserCallTests {
  private static let path = CallFixture.v1 + "projects/example/accounts"
  private static let v3 = CallFixture.v3
  private static let bearer = "ya29.token"

  static func view(_ localID: String) -> AccountView {
    AccountView(
      localID: localID, createdAt: CallFixture.now, lastLoginAt: CallFixture.now, validSince: CallFixture.now)
  }

  @Test(arguments: [path, path + ":signUp", CallFixture.v1 + "accounts:signUp", v3 + "signupNewUser"])
  func `A user is made without tokens`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(CreateAccount.self) { command, asked in
      #expect(try asked.open(ifAny: command.bearer) == Self.bearer && command.project == "example")
      let user = try UserFields(text: Secret(asked.open(command.user)))
      var expected = UserFields(localID: "local-1")
      (expected.email, expected.emailVerified, expected.password) = ("a@example.com", true, "secret1")
      (expected.phoneNumber, expected.disabled) = ("+14155550123", true)
      #expect(user == expected)
      var account = Self.view("local-1")
      account.email = "a@example.com"
      return AccountChanged(account: account)
    }
    let answer = try await fixture.post(
      path,
      #"""
      {"localId":"local-1","email":"a@example.com","emailVerified":true,"password":"secret1",
      "phoneNumber":"+14155550123","disabled":true,"targetProjectId":"example"}
      """#, bearer: Self.bearer)
    #expect(
      answer == [
        "kind": "identitytoolkit#SignupNewUserResponse", "localId": "local-1", "email": "a@example.com",
      ])
    #expect(!fixture.log.contains("secret1") && !fixture.log.contains("ya29"))
  }

  @Test(
    arguments: [path, path + ":signUp", CallFixture.v1 + "accounts:signUp", v3 + "signupNewUser"]
      + ["lookup", "update", "delete"].map { "\(path):\($0)" })
  func `A user of a tenant is refused`(path: String) async throws {
    let json = #"{"tenantId":"t","localId":"local-1","email":"a@example.com","targetProjectId":"example"}"#
    #expect(try await CallFixture().refusal(path, json, bearer: Self.bearer).status == 501)
  }

  @Test func `A user is changed by its ID`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(ChangeAccount.self) { command, asked in
      let user = try UserFields(text: Secret(asked.open(command.user)))
      #expect(user.localID == "a/b?c=d&e" && user.disabled == true && user.customAttributes == #"{"a":1}"#)
      #expect(user.validSince == UnixTime(seconds: 1_782_907_200) && user.displayName == "")
      #expect(user.identities?.map(\.subject) == ["s"] && user.deleteProviders == ["phone"])
      #expect(user.deleteAttributes == ["PHOTO_URL"])
      return AccountChanged(account: Self.view("a/b?c=d&e"))
    }
    let answer = try await fixture.post(
      Self.path + ":update",
      #"""
      {"localId":"a/b?c=d&e","disableUser":true,"customAttributes":"{\"a\":1}","validSince":"1782907200",
      "displayName":"","deleteProvider":["phone"],"deleteAttribute":["PHOTO_URL"],
      "linkProviderUserInfo":{"providerId":"apple.com","rawId":"s"}}
      """#, bearer: Self.bearer)
    #expect(answer == ["kind": "identitytoolkit#SetAccountInfoResponse", "localId": "a/b?c=d&e"])
  }

  @Test(
    arguments: [
      ("{}", "MISSING_LOCAL_ID"), (#"{"localId":"a","idToken":"t"}"#, "UNEXPECTED_PARAMETER : ID token"),
      (#"{"localId":"a","mfa":{"enrollments":[{"emailInfo":{}}]}}"#, "NOT_IMPLEMENTED : An address as second factor"),
      (#"{"localId":"a","mfa":{"enrollments":[{"enrolledAt":"soon"}]}}"#, "Invalid JSON payload received."),
      (#"{"localId":"a","mfa":[]}"#, "Invalid JSON payload received."),
      (#"{"localId":"a","validSince":"99999999999999999"}"#, "Invalid JSON payload received."),
    ])
  func `What cannot be changed is refused before anything is asked`(json: String, message: String) async throws {
    let fixture = try CallFixture()
    let error = try await fixture.refusal(Self.path + ":update", json, bearer: Self.bearer)
    #expect(error.message.hasPrefix(message) && fixture.services.messages.isEmpty)
  }

  private static let factors = #"""
    [{"mfaEnrollmentId":"e-1","displayName":"Work","totpInfo":{}},
    {"phoneInfo":"+14155550123","enrolledAt":"2026-07-01T12:00:00.500Z"}]
    """#

  @Test(
    arguments: [
      ("accounts:update", #""mfa":{"enrollments":\#(factors)}"#, 2), ("accounts:update", #""mfa":{}"#, 0),
      ("accounts:update", #""mfa":{"enrollments":[]}"#, 0), ("accounts:update", #""displayName":"""#, nil),
      ("accounts:update", #""mfa":null"#, nil), ("accounts", #""mfaInfo":\#(factors)"#, 2),
      ("accounts:batchCreate", #""mfaInfo":\#(factors)"#, 2), ("accounts:batchCreate", #""email":"a@b.c""#, nil),
    ] as [(String, String, Int?)])
  func `Second factors that an administrator writes take the place of others`(call: String, json: String, count: Int?)
    async throws
  {
    let fixture = try CallFixture()
    var work = UserSecondFactor(enrollmentID: "e-1")
    work.displayName = "Work"
    var phone = UserSecondFactor(phoneNumber: "+14155550123")
    phone.enrolledAt = UnixTime(milliseconds: 1_782_907_200_500)
    let expected = count.map { Array([work, phone].prefix($0)) }
    let check: @Sendable (UserFields) -> Void = { #expect($0.secondFactors == expected) }
    fixture.services.on(CreateAccount.self) { command, asked in
      check(try UserFields(text: Secret(asked.open(command.user))))
      return AccountChanged(account: Self.view("a"))
    }
    fixture.services.on(ChangeAccount.self) { command, asked in
      check(try UserFields(text: Secret(asked.open(command.user))))
      return AccountChanged(account: Self.view("a"))
    }
    fixture.services.on(ImportAccounts.self) { command, asked in
      check(try UserBatch(text: Secret(asked.open(command.batch))).users[0])
      return AccountsImported(refused: [])
    }
    let user = #"{"localId":"a",\#(json)}"#
    _ = try await fixture.post(
      CallFixture.v1 + "projects/example/" + call, call.hasSuffix("batchCreate") ? #"{"users":[\#(user)]}"# : user,
      bearer: Self.bearer)
    #expect(fixture.services.messages.count == 1)
  }

  @Test func `A second factor of a wrong form is an error of its field`() async throws {
    let fixture = try CallFixture()
    fixture.services.refuse(ChangeAccount.self, APIError(.invalidArgument, "x", field: "secondFactors"))
    let error = try await fixture.refusal(Self.path + ":update", #"{"localId":"a","mfa":{}}"#, bearer: Self.bearer)
    #expect(error.status == 400 && error.message.contains("mfaInfo"))
  }

  @Test func `An administrator is shown the second factors of a user`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(FindAccounts.self) { _, _ in
      var account = Self.view("a")
      var phone = SecondFactorView(enrollmentID: "e-1", kind: .phone, enrolledAt: CallFixture.now)
      (phone.phoneNumber, phone.displayName) = ("+14155550123", "Work")
      account.secondFactors = [
        phone, SecondFactorView(enrollmentID: "e-2", kind: .totp, enrolledAt: CallFixture.now),
      ]
      return AccountsFound(accounts: [account])
    }
    let answer = try await fixture.post(Self.path + ":lookup", #"{"localId":["a"]}"#, bearer: Self.bearer)
    let enrolledAt = JSONValue.text(CallFixture.now.rfc3339WithMilliseconds)
    #expect(
      answer["users"]?.array.first?["mfaInfo"] == [
        ["mfaEnrollmentId": "e-1", "displayName": "Work", "enrolledAt": enrolledAt, "phoneInfo": "+14155550123"],
        ["mfaEnrollmentId": "e-2", "enrolledAt": enrolledAt, "totpInfo": [:]],
      ])
  }

  @Test func `A look-up is split, and each user shown once`() async throws {
    let fixture = try CallFixture()
    let sizes = Mutex<[Int]>([])
    fixture.services.on(FindAccounts.self) { command, asked in
      let selection = try AccountSelection(text: Secret(asked.open(command.selection)))
      sizes.withLock { $0.append(selection.count) }
      var reply = AccountsFound(accounts: (selection.localIDs ?? []).map(Self.view))
      if selection.emails != nil { reply.accounts.append(Self.view("u0")) }
      // As accounts does where not all fit a reply.
      if selection.count > 60 { (reply.accounts, reply.next) = (Array(reply.accounts.prefix(60)), "n") }
      return reply
    }
    let ids = (0..<150).map { #""u\#($0)""# }.joined(separator: ",")
    let answer = try await fixture.post(
      Self.path + ":lookup",
      #"{"localId":[\#(ids)],"email":["a@example.com"],"federatedUserId":[{"providerId":"apple.com","rawId":"s"}]}"#,
      bearer: Self.bearer)
    #expect(answer["users"]?.array.compactMap { $0["localId"]?.text } == (0..<150).map { "u\($0)" })
    #expect(sizes.withLock { $0 } == [100, 50, 50, 52])
  }

  @Test func `Nobody found is no field`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(FindAccounts.self) { _, _ in AccountsFound(accounts: []) }
    let answer = try await fixture.post(Self.path + ":lookup", #"{"email":["a@b.c"]}"#, bearer: Self.bearer)
    #expect(answer == ["kind": "identitytoolkit#GetAccountInfoResponse"])
  }

  @Test(arguments: [true, false])
  func `A user is deleted, or is not there`(isThere: Bool) async throws {
    let fixture = try CallFixture()
    fixture.services.on(RemoveAccounts.self) { command, _ in
      #expect(command.localIDs == ["local-1"] && command.force == true)
      return AccountsRemoved(refused: isThere ? [] : [RefusedUser(index: 0, message: "USER_NOT_FOUND : x")])
    }
    if isThere {
      let answer = try await fixture.post(Self.path + ":delete", #"{"localId":"local-1"}"#, bearer: Self.bearer)
      #expect(answer == ["kind": "identitytoolkit#DeleteAccountResponse"])
    } else {
      let error = try await fixture.refusal(Self.path + ":delete", #"{"localId":"local-1"}"#, bearer: Self.bearer)
      #expect(error.message == "USER_NOT_FOUND")
    }
  }

  @Test(
    arguments: [
      (APIErrorCode.invalidAccessToken, 401, "UNAUTHENTICATED"), (.insufficientPermission, 403, "PERMISSION_DENIED"),
      (.duplicateLocalID, 400, nil), (.unverifiedEmail, 400, nil), (.secondFactorExists, 400, nil),
      (.claimsTooLarge, 400, nil), (.configurationNotFound, 404, "NOT_FOUND"),
      (.configurationExists, 409, "ALREADY_EXISTS"),
    ] as [(APIErrorCode, Int, String?)])
  func `Refusals of administrators have their statuses`(code: APIErrorCode, status: Int, word: String?)
    async throws
  {
    let fixture = try CallFixture()
    fixture.services.refuse(CreateAccount.self, APIError(code, "x", field: "bearer"))
    let error = try await fixture.refusal(Self.path, "{}", bearer: Self.bearer)
    #expect(error.status == status && error.word == word)
    if code != .invalidAccessToken { #expect(error.message.hasPrefix(code.rawValue)) }
  }
}
