import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Gateway

@Suite struct MailLinkCallTests {
  private static let v1 = CallFixture.v1 + "accounts:"
  private static let v3 = CallFixture.v3

  private let fixture: CallFixture

  init() throws { fixture = try CallFixture() }

  private func sent() -> JSONValue { fixture.services.bodies.last ?? .null }

  /// Answers as `accounts` does, to who tells it apart.
  private func expectMail(
    _ check: @escaping @Sendable (SendMailLink, MailLinkAddresses, String?) -> Void = { _, _, _ in }
  ) {
    fixture.services.on(SendMailLink.self) { command, asked in
      let addresses = try MailLinkAddresses(text: Secret(asked.open(command.addresses)))
      check(command, addresses, try asked.open(ifAny: command.idToken))
      var reply = MailLinkSent(email: addresses.newEmail ?? addresses.email ?? "ada@example.com")
      if command.returnsLink == true {
        let link = try MailLink(code: "c", url: "https://example.com/?oobCode=c").text()
        reply.link = try asked.seal(link.reveal(), to: command.replyKey)
      }
      return reply
    }
  }

  private func expectLink(
    _ purpose: MailLinkPurpose, email: String = "ada@example.com", newEmail: String? = nil,
    factor: SecondFactorView? = nil,
    _ check: @escaping @Sendable (ApplyMailLink, String, String?) -> Void = { _, _, _ in }
  ) {
    fixture.services.on(ApplyMailLink.self) { command, asked in
      check(command, try asked.open(command.code), try asked.open(ifAny: command.newPassword))
      var reply = MailLinkApplied(purpose: purpose, email: email)
      reply.newEmail = newEmail
      reply.secondFactor = factor
      reply.localID = command.isLook == true ? nil : "local-1"
      return reply
    }
  }

  // MARK: Sending

  @Test(arguments: [v1 + "sendOobCode", v3 + "getOobConfirmationCode"])
  func `A link is mailed, in the language of the app, and under both names`(path: String) async throws {
    expectMail { command, addresses, token in
      #expect(command.purpose == .resetPassword && addresses == MailLinkAddresses(email: "Ada@example.com"))
      #expect(command.continueURL == "https://example.com/?a=b" && command.opensInApp == true && token == nil)
      #expect(command.bundleID == "com.example.push" && command.linkDomain == "example.com")
      #expect(command.languageCode == "pt-BR" && command.returnsLink == nil && command.client?.ip == "192.0.2.1")
    }
    for type in [#""PASSWORD_RESET""#, "1", #""1""#] {
      let answer = try await fixture.post(
        path,
        """
        {"requestType":\(type),"email":"Ada@example.com","continueUrl":"https://example.com/?a=b",
        "canHandleCodeInApp":true,"iOSBundleId":"com.example.push","linkDomain":"example.com"}
        """, locale: "pt-BR")
      #expect(
        answer == ["kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": "Ada@example.com"])
    }
  }

  @Test func `Each kind of link takes what it is about`() async throws {
    expectMail()
    let kinds: [(String, MailLinkPurpose)] = [
      (#""requestType":"EMAIL_SIGNIN","email":"a@example.com""#, .signIn),
      (#""requestType":4,"idToken":"t""#, .verifyAddress),
      (#""requestType":"VERIFY_AND_CHANGE_EMAIL","idToken":"t","newEmail":"b@example.com""#, .changeAddress),
    ]
    for (fields, purpose) in kinds {
      _ = try await fixture.post(Self.v1 + "sendOobCode", "{\(fields)}")
      #expect(sent()["purpose"] == .text(purpose.rawValue))
      #expect((sent()["idToken"] == nil) == (purpose == .signIn))
    }
  }

  @Test(arguments: [
    ("", "MISSING_REQ_TYPE"), (#""requestType":0"#, "MISSING_REQ_TYPE"),
    (#""requestType":"RECOVER_EMAIL","email":"a@example.com""#, "INVALID_REQ_TYPE"),
    (#""requestType":"REVERT_SECOND_FACTOR_ADDITION""#, "INVALID_REQ_TYPE"),
    (#""requestType":"PASSWORD_RESET""#, "MISSING_EMAIL"), (#""requestType":"EMAIL_SIGNIN""#, "MISSING_EMAIL"),
    (#""requestType":"VERIFY_EMAIL""#, "MISSING_ID_TOKEN"),
    (#""requestType":"VERIFY_AND_CHANGE_EMAIL","newEmail":"b@example.com""#, "MISSING_ID_TOKEN"),
    (#""requestType":"VERIFY_AND_CHANGE_EMAIL","idToken":"t""#, "MISSING_NEW_EMAIL"),
    (#""requestType":"PASSWORD_RESET","email":"a@example.com","returnOobLink":true"#, "INSUFFICIENT_PERMISSION"),
  ])
  func `What is missing is told, and nothing is mailed`(fields: String, code: String) async throws {
    expectMail()
    let error = try await fixture.unasked(Self.v1 + "sendOobCode", "{\(fields)}")
    #expect(error.isCode(code), "\(error.message)")
  }

  @Test func `Administrators get the link, by the address alone`() async throws {
    expectMail { command, addresses, token in
      #expect(command.returnsLink == true && addresses.email == "a@example.com" && token == nil)
    }
    for type in ["PASSWORD_RESET", "VERIFY_EMAIL", "EMAIL_SIGNIN"] {
      let answer = try await fixture.post(
        CallFixture.v1 + "projects/example/accounts:sendOobCode",
        #"{"requestType":"\#(type)","email":"a@example.com","returnOobLink":true}"#, withApp: false, bearer: "token")
      #expect(answer["oobCode"] == "c" && answer["oobLink"] == "https://example.com/?oobCode=c")
      #expect(sent()["bearer"] != nil)
    }
  }

  @Test(arguments: [
    (APIErrorCode.invalidContinueURI, "INVALID_CONTINUE_URI"),
    (.unauthorizedDomain, "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project"),
    (.emailNotFound, "EMAIL_NOT_FOUND"),
  ])
  func `Refusals of accounts keep their codes`(code: APIErrorCode, message: String) async throws {
    fixture.services.refuse(SendMailLink.self, APIError(code, "for operators"))
    let error = try await fixture.refusal(
      Self.v1 + "sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"a@example.com"}"#)
    #expect(error.status == 400 && error.message == message)
  }

  // MARK: Codes

  @Test(arguments: [v1 + "resetPassword", v3 + "resetPassword"])
  func `A code is looked at without a password, and spent with one`(path: String) async throws {
    expectLink(.resetPassword) { command, code, password in
      #expect(code == "c" && (command.isLook == true) == (password == nil))
    }
    let known: JSONValue = [
      "kind": "identitytoolkit#ResetPasswordResponse", "email": "ada@example.com", "requestType": "PASSWORD_RESET",
    ]
    #expect(try await fixture.post(path, #"{"oobCode":"c"}"#) == known)
    #expect(try await fixture.post(path, #"{"oobCode":"c","newPassword":"battery staple"}"#) == known)
  }

  @Test func `A look names the kind, and whose link signs in is not told`() async throws {
    let kinds: [(MailLinkPurpose, JSONValue)] = [
      (.verifyAddress, "VERIFY_EMAIL"), (.changeAddress, "VERIFY_AND_CHANGE_EMAIL"),
      (.recoverAddress, "RECOVER_EMAIL"), (.signIn, "EMAIL_SIGNIN"),
      (.revertSecondFactor, "REVERT_SECOND_FACTOR_ADDITION"),
    ]
    for (purpose, name) in kinds {
      expectLink(purpose, newEmail: purpose == .changeAddress ? "bo@example.com" : nil)
      let answer = try await fixture.post(Self.v1 + "resetPassword", #"{"oobCode":"c"}"#)
      #expect(answer["requestType"] == name && (answer["email"] == nil) == (purpose == .signIn))
      #expect(answer["newEmail"] == (purpose == .changeAddress ? "bo@example.com" : nil))
    }
  }

  @Test func `A look at the link that takes a second factor back shows the factor`() async throws {
    var phone = SecondFactorView(enrollmentID: "e1", kind: .phone, enrolledAt: UnixTime(seconds: 1_782_907_200))
    (phone.displayName, phone.phoneNumber) = ("Work", "+*******0100")
    let totp = SecondFactorView(enrollmentID: "e2", kind: .totp, enrolledAt: UnixTime(seconds: 1_782_907_200))
    let time: JSONValue = "2026-07-01T12:00:00.000Z"
    let answers: [(SecondFactorView, JSONValue)] = [
      (phone, ["mfaEnrollmentId": "e1", "displayName": "Work", "enrolledAt": time, "phoneInfo": "+*******0100"]),
      (totp, ["mfaEnrollmentId": "e2", "enrolledAt": time, "totpInfo": [:]]),
    ]
    for (factor, info) in answers {
      expectLink(.revertSecondFactor, factor: factor)
      #expect(
        try await fixture.post(Self.v1 + "resetPassword", #"{"oobCode":"c"}"#) == [
          "kind": "identitytoolkit#ResetPasswordResponse", "email": "ada@example.com",
          "requestType": "REVERT_SECOND_FACTOR_ADDITION", "mfaInfo": info,
        ])
      #expect(
        try await fixture.post(Self.v1 + "update", #"{"oobCode":"c"}"#) == [
          "kind": "identitytoolkit#SetAccountInfoResponse", "localId": "local-1", "email": "ada@example.com",
        ])
    }
  }

  @Test func `A code that is none does not reach accounts`() async throws {
    for path in ["resetPassword", "signInWithEmailLink"] {
      let none = try await fixture.unasked(Self.v1 + path, #"{"email":"a@example.com"}"#)
      #expect(none.message == "MISSING_OOB_CODE")
      let long = #"{"email":"a@example.com","oobCode":"\#(String(repeating: "x", count: 5_000))"}"#
      #expect(try await fixture.unasked(Self.v1 + path, long).message == "INVALID_OOB_CODE")
    }
  }

  @Test func `An update by a code verifies or changes the address, without tokens`() async throws {
    for (purpose, newEmail) in [(MailLinkPurpose.verifyAddress, nil), (.changeAddress, "bo@example.com")] {
      expectLink(purpose, newEmail: newEmail) { command, _, password in
        #expect(command.isLook == nil && password == nil)
      }
      let answer = try await fixture.post(Self.v1 + "update", #"{"oobCode":"c"}"#)
      #expect(
        answer == [
          "kind": "identitytoolkit#SetAccountInfoResponse", "localId": "local-1",
          "email": .text(newEmail ?? "ada@example.com"), "emailVerified": true,
        ])
    }
  }

  // MARK: Sign-in

  @Test(arguments: [v1 + "signInWithEmailLink", v3 + "emailLinkSignin"])
  func `A link signs in, and adds its address to the account of an ID token`(path: String) async throws {
    fixture.services.on(SignInWithMailLink.self) { command, asked in
      let credential = try MailLinkCredential(text: Secret(asked.open(command.credential)))
      #expect(credential == MailLinkCredential(email: "Ada@example.com", code: "c"))
      var reply = try asked.signedIn(to: command.replyKey)
      reply.isNewUser = try asked.open(ifAny: command.idToken) == nil
      var identity = SignedInIdentity(providerID: "password", federatedID: "ada@example.com")
      identity.email = "ada@example.com"
      reply.identity = try asked.seal(identity.text().reveal(), to: command.replyKey)
      return reply
    }
    for token in [nil, "id"] {
      let field = token.map { #","idToken":"\#($0)""# } ?? ""
      let answer = try await fixture.post(path, #"{"email":"Ada@example.com","oobCode":"c"\#(field)}"#)
      #expect(
        answer == [
          "kind": "identitytoolkit#EmailLinkSigninResponse", "localId": "local-1", "email": "ada@example.com",
          "isNewUser": .bool(token == nil), "idToken": "id-token", "refreshToken": "refresh-token",
          "expiresIn": "3600",
        ])
    }
  }

  @Test func `A link of another address says so`() async throws {
    let mismatch = APIError(.invalidEmail, "for operators", field: "email", reason: "OTHER_ADDRESS")
    fixture.services.refuse(SignInWithMailLink.self, mismatch)
    let error = try await fixture.refusal(
      Self.v1 + "signInWithEmailLink", #"{"email":"a@example.com","oobCode":"c"}"#)
    #expect(error.message == "INVALID_EMAIL : The email provided does not match the sign-in email address.")
    #expect(
      try await fixture.refusal(Self.v1 + "signInWithEmailLink", #"{"oobCode":"c"}"#).message == "MISSING_EMAIL")
  }
}
