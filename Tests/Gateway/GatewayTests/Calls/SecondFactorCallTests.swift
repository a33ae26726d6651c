import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import Testing

@testable import Gateway

@Suite struct SecondFactorCallTests {
  private static let enrollment = CallFixture.v2 + "accounts/mfaEnrollment:"
  private static let signIn = CallFixture.v2 + "accounts/mfaSignIn:"
  private static let tokens: JSONValue = ["idToken": "id-token", "refreshToken": "refresh-token"]
  private static let secrets = ["eyJ.a.b", "pending-1", "476431", "secret-1", "captcha-1", "session-1", "JBSWY3DP"]

  private static var shared: SharedSecret {
    SharedSecret(
      key: "JBSWY3DP", sessionInfo: "session-1", codeLength: 6, period: 30,
      expiresAt: CallFixture.now + .seconds(600))
  }

  static func started(_ command: StartSecondFactor, _ session: String = "session-1") -> SecondFactorStarted {
    var started = SecondFactorStarted()
    started.verification = VerificationStarted(
      verificationID: session, app: command.app ?? "", phoneNumber: command.phoneNumber ?? "+*******0123",
      codeLength: 6, expiresAt: CallFixture.now + .seconds(300), resendAfter: 30, resent: false, testNumber: false)
    return started
  }

  /// A gateway whose accounts takes each command as it is held to.
  private func fixture(
    _ recaptcha: Project.Recaptcha? = nil,
    start: @escaping @Sendable (StartSecondFactor, FakeServices.Asked) throws -> Void = { _, _ in },
    finish: @escaping @Sendable (FinishSecondFactor, FakeServices.Asked) throws -> Void = { _, _ in }
  ) throws -> CallFixture {
    let fixture = try CallFixture(recaptcha: recaptcha)
    fixture.services.on(StartSecondFactor.self) { command, asked in
      try start(command, asked)
      guard command.kind == .totp else { return Self.started(command) }
      var started = SecondFactorStarted()
      started.sharedSecret = try asked.seal(Self.shared.text().reveal(), to: command.replyKey)
      return started
    }
    fixture.services.on(FinishSecondFactor.self) { command, asked in
      try finish(command, asked)
      return try asked.signedIn(to: command.replyKey)
    }
    return fixture
  }

  // MARK: Numbers

  @Test func `A number is enrolled by its code`() async throws {
    let fixture = try fixture(
      start: { command, asked throws in
        #expect(try asked.open(ifAny: command.idToken) == "eyJ.a.b")
        #expect(command.kind == .phone && command.phoneNumber == "+14155550123" && command.fictionalOnly == nil)
        #expect(command.app == "com.example.push" && command.languageCode == "pt-BR")
        #expect(command.pendingCredential == nil && command.enrollmentID == nil && command.client?.ip == "192.0.2.1")
      },
      finish: { command, asked throws in
        #expect(try asked.open(ifAny: command.idToken) == "eyJ.a.b")
        #expect(try asked.open(ifAny: command.sessionInfo) == "session-1")
        #expect(try asked.open(ifAny: command.code) == "476431")
        #expect(command.kind == .phone && command.displayName == "Work" && command.app == "com.example.push")
        #expect(command.pendingCredential == nil && command.enrollmentID == nil && command.client?.ip == "192.0.2.1")
      })
    let started = try await fixture.post(
      Self.enrollment + "start",
      #"{"idToken":"eyJ.a.b","phoneEnrollmentInfo":{"phoneNumber":"+14155550123","clientType":"CLIENT_TYPE_WEB"}}"#,
      locale: "pt-BR")
    #expect(started == ["phoneSessionInfo": ["sessionInfo": "session-1"]])
    let enrolled = try await fixture.post(
      Self.enrollment + "finalize",
      #"{"idToken":"eyJ.a.b","displayName":"Work","phoneVerificationInfo":{"sessionInfo":"session-1","code":"476431"}}"#
    )
    #expect(enrolled == Self.tokens)
    fixture.requireSealed(Self.secrets)
  }

  @Test func `A number signs in by its code`() async throws {
    let fixture = try fixture(
      start: { command, asked throws in
        #expect(try asked.open(ifAny: command.pendingCredential) == "pending-1")
        #expect(command.enrollmentID == "factor-1" && command.app == "com.example.push")
        #expect(command.phoneNumber == nil && command.idToken == nil && command.client?.ip == "192.0.2.1")
      },
      finish: { command, asked throws in
        #expect(try asked.open(ifAny: command.pendingCredential) == "pending-1")
        #expect(try asked.open(ifAny: command.sessionInfo) == "session-1")
        #expect(try asked.open(ifAny: command.code) == "476431")
        #expect(command.kind == .phone && command.enrollmentID == nil && command.idToken == nil)
      })
    let started = try await fixture.post(
      Self.signIn + "start",
      #"{"mfaPendingCredential":"pending-1","mfaEnrollmentId":"factor-1","phoneSignInInfo":{"recaptchaToken":"t"}}"#)
    #expect(started == ["phoneResponseInfo": ["sessionInfo": "session-1"]])
    // Android keeps a proof of a number that it has proven, which stands for no code.
    let finished = try await fixture.post(
      Self.signIn + "finalize",
      #"{"mfa_pending_credential":"pending-1","phone_verification_info":{"session_info":"session-1","code":"476431","androidVerificationProof":"p"}}"#
    )
    #expect(finished == Self.tokens)
    fixture.requireSealed(Self.secrets)
  }

  @Test(
    arguments: [
      (#""iosReceipt":"r","iosSecret":"secret-1""#, "r", "secret-1", nil, nil),
      (#""ios_receipt":"r""#, "r", nil, nil, nil),
      (#""recaptchaToken":"captcha-1""#, nil, nil, "captcha-1", nil),
      (#""recaptchaToken":"eyJ.a.b.c.d""#, nil, nil, "eyJ.a.b.c.d", nil),
      (#""captchaResponse":"captcha-1","recaptchaVersion":1"#, nil, nil, "captcha-1", "mfaSms"),
      (#""captchaResponse":"NO_RECAPTCHA","recaptchaToken":"captcha-1""#, nil, nil, "captcha-1", nil),
    ] as [(String, String?, String?, String?, String?)])
  func `A proof is that of any code, sealed to accounts, with an action of its own`(
    fields: String, receipt: String?, secret: String?, token: String?, action: String?
  ) async throws {
    let fixture = try fixture(start: { command, asked throws in
      #expect(command.proof?.receipt == receipt)
      #expect(try asked.open(ifAny: command.proof?.secret) == secret)
      #expect(try asked.open(ifAny: command.proof?.recaptchaToken) == token)
      let purpose = command.idToken == nil ? "SignIn" : "Enrollment"
      #expect(command.proof?.recaptchaAction == action.map { $0 + purpose })
    })
    _ = try await fixture.post(
      Self.enrollment + "start",
      #"{"idToken":"eyJ.a.b","phoneEnrollmentInfo":{"phoneNumber":"+14155550123",\#(fields)}}"#)
    _ = try await fixture.post(
      Self.signIn + "start",
      #"{"mfaPendingCredential":"pending-1","mfaEnrollmentId":"factor-1","phoneSignInInfo":{\#(fields)}}"#)
    #expect(fixture.services.messages.count == 2)
    fixture.requireSealed(Self.secrets)
  }

  @Test func `Enforced, reCAPTCHA is asked for, and what is wrong with it is told as for any code`() async throws {
    let recaptcha = Project.Recaptcha(enterpriseKey: "projects/p/keys/k", phone: .enforce)
    let fixture = try fixture(
      recaptcha, start: { command, _ in #expect(command.fictionalOnly == true && command.proof == nil) })
    let bare = #"{"mfaPendingCredential":"pending-1","mfaEnrollmentId":"factor-1"}"#
    _ = try await fixture.post(Self.signIn + "start", bare)
    fixture.services.refuse(
      StartSecondFactor.self, APIError(.missingClientIdentifier, "x", field: "proof", reason: "FICTIONAL_ONLY"))
    #expect(try await fixture.refusal(Self.signIn + "start", bare).message == "MISSING_RECAPTCHA_TOKEN")
    fixture.services.refuse(
      StartSecondFactor.self,
      APIError(.captchaCheckFailed, "x", field: "proof.recaptchaToken", reason: "CAPTCHA_ACTION_MISMATCH"))
    let error = try await fixture.refusal(
      Self.enrollment + "start",
      #"{"idToken":"eyJ.a.b","phoneEnrollmentInfo":{"phoneNumber":"+14155550123","captchaResponse":"captcha-1"}}"#)
    #expect(error.status == 400 && error.message == "INVALID_RECAPTCHA_ACTION")
    fixture.requireSealed(Self.secrets)
  }

  // MARK: Codes of an authenticator

  @Test func `An authenticator is enrolled by its first code`() async throws {
    let fixture = try fixture(
      start: { command, asked throws in
        #expect(try asked.open(ifAny: command.idToken) == "eyJ.a.b")
        #expect(command.kind == .totp && command.app == nil && command.proof == nil && command.phoneNumber == nil)
      },
      finish: { command, asked throws in
        #expect(command.kind == .totp && command.displayName == "App" && command.app == nil)
        #expect(try asked.open(ifAny: command.sessionInfo) == "session-1")
        #expect(try asked.open(ifAny: command.code) == "476431")
      })
    let started = try await fixture.post(
      Self.enrollment + "start", #"{"idToken":"eyJ.a.b","totpEnrollmentInfo":{}}"#, withApp: false)
    #expect(
      started == [
        "totpSessionInfo": [
          "sharedSecretKey": "JBSWY3DP", "verificationCodeLength": 6, "hashingAlgorithm": "SHA1", "periodSec": 30,
          "sessionInfo": "session-1", "finalizeEnrollmentTime": "2026-07-01T12:10:00Z",
        ]
      ])
    let enrolled = try await fixture.post(
      Self.enrollment + "finalize",
      #"{"idToken":"eyJ.a.b","displayName":"App","totpVerificationInfo":{"sessionInfo":"session-1","verificationCode":"476431"}}"#,
      withApp: false)
    #expect(enrolled == Self.tokens)
    fixture.requireSealed(Self.secrets)
  }

  @Test func `An authenticator signs in without a start`() async throws {
    let fixture = try fixture(finish: { command, asked throws in
      #expect(try asked.open(ifAny: command.pendingCredential) == "pending-1")
      #expect(try asked.open(ifAny: command.code) == "476431")
      #expect(command.kind == .totp && command.enrollmentID == "factor-1" && command.sessionInfo == nil)
    })
    let finished = try await fixture.post(
      Self.signIn + "finalize",
      #"{"mfaPendingCredential":"pending-1","mfaEnrollmentId":"factor-1","totpVerificationInfo":{"verificationCode":"476431"}}"#,
      withApp: false)
    #expect(finished == Self.tokens)
    fixture.requireSealed(Self.secrets)
  }

  // MARK: Both

  @Test func `A second factor is withdrawn`() async throws {
    let fixture = try fixture()
    fixture.services.on(WithdrawSecondFactor.self) { command, asked in
      #expect(try asked.open(command.idToken) == "eyJ.a.b")
      #expect(command.enrollmentID == "factor-1")
      return try asked.signedIn(to: command.replyKey)
    }
    let answer = try await fixture.post(
      Self.enrollment + "withdraw", #"{"idToken":"eyJ.a.b","mfaEnrollmentId":"factor-1"}"#, withApp: false)
    #expect(answer == Self.tokens)
    fixture.requireSealed(Self.secrets)
  }

  @Test(
    arguments: [
      ("Enrollment:start", #"{}"#, "MISSING_ID_TOKEN"),
      ("Enrollment:start", #"{"idToken":"t"}"#, "MISSING_PHONE_NUMBER"),
      ("Enrollment:start", #"{"idToken":"t","phoneEnrollmentInfo":{}}"#, "MISSING_PHONE_NUMBER"),
      (
        "Enrollment:start", #"{"idToken":"t","phoneEnrollmentInfo":{"phoneNumber":"1"}}"#,
        "INVALID_PHONE_NUMBER : Invalid format."
      ),
      (
        "Enrollment:start", #"{"idToken":"\#(String(repeating: "t", count: 17_000))"}"#, "INVALID_ID_TOKEN"
      ),
      ("Enrollment:finalize", #"{}"#, "MISSING_ID_TOKEN"),
      ("Enrollment:finalize", #"{"idToken":"t"}"#, "MISSING_SESSION_INFO"),
      ("Enrollment:finalize", #"{"idToken":"t","totpVerificationInfo":{}}"#, "MISSING_SESSION_INFO"),
      ("Enrollment:finalize", #"{"idToken":"t","phoneVerificationInfo":{"sessionInfo":"s"}}"#, "MISSING_CODE"),
      (
        "Enrollment:finalize", #"{"idToken":"t","totpVerificationInfo":{"sessionInfo":"s","code":"1"}}"#,
        "MISSING_CODE"
      ),
      ("Enrollment:withdraw", #"{}"#, "MISSING_ID_TOKEN"),
      ("Enrollment:withdraw", #"{"idToken":"t"}"#, "MISSING_MFA_ENROLLMENT_ID"),
      (
        "Enrollment:withdraw", #"{"idToken":"t","mfaEnrollmentId":"\#(String(repeating: "f", count: 257))"}"#,
        "MFA_ENROLLMENT_NOT_FOUND"
      ),
      ("SignIn:start", #"{}"#, "MISSING_MFA_PENDING_CREDENTIAL"),
      ("SignIn:start", #"{"mfaPendingCredential":"p"}"#, "MISSING_MFA_ENROLLMENT_ID"),
      (
        "SignIn:start", #"{"mfaPendingCredential":"\#(String(repeating: "p", count: 17_000))"}"#,
        "INVALID_MFA_PENDING_CREDENTIAL"
      ),
      ("SignIn:finalize", #"{}"#, "MISSING_MFA_PENDING_CREDENTIAL"),
      ("SignIn:finalize", #"{"mfaPendingCredential":"p"}"#, "MISSING_SESSION_INFO"),
      (
        "SignIn:finalize", #"{"mfaPendingCredential":"p","phoneVerificationInfo":{"sessionInfo":"s"}}"#, "MISSING_CODE"
      ),
      (
        "SignIn:finalize", #"{"mfaPendingCredential":"p","totpVerificationInfo":{"verificationCode":"1"}}"#,
        "MISSING_MFA_ENROLLMENT_ID"
      ),
      (
        "SignIn:finalize", #"{"mfaPendingCredential":"p","mfaEnrollmentId":"f","totpVerificationInfo":{}}"#,
        "MISSING_CODE"
      ),
    ])
  func `What is missing or cannot be is refused before anything is asked`(call: String, json: String, message: String)
    async throws
  {
    #expect(try await fixture().unasked(CallFixture.v2 + "accounts/mfa\(call)", json).message == message)
  }

  @Test(arguments: [
    "Enrollment:start", "Enrollment:finalize", "Enrollment:withdraw", "SignIn:start", "SignIn:finalize",
  ])
  func `Tenants are not offered, and parts of a wrong type are refused`(call: String) async throws {
    let fixture = try fixture()
    let path = CallFixture.v2 + "accounts/mfa\(call)"
    #expect(try await fixture.refusal(path, #"{"tenantId":"t"}"#).status == 501)
    guard call != "Enrollment:withdraw" else { return }
    let error = try await fixture.unasked(
      path,
      #"{"idToken":"t","mfaPendingCredential":"p","mfaEnrollmentId":"f","phoneEnrollmentInfo":"476431","phoneSignInInfo":"476431","phoneVerificationInfo":"476431"}"#
    )
    #expect(error.word == "INVALID_ARGUMENT" && !error.message.contains("476431"))
  }

  @Test func `A number needs an app`() async throws {
    let fixture = try fixture()
    for (call, json) in [
      ("Enrollment:start", #"{"idToken":"t","phoneEnrollmentInfo":{"phoneNumber":"+14155550123"}}"#),
      ("SignIn:start", #"{"mfaPendingCredential":"p","mfaEnrollmentId":"f"}"#),
      ("SignIn:finalize", #"{"mfaPendingCredential":"p","phoneVerificationInfo":{"sessionInfo":"s","code":"1"}}"#),
    ] {
      #expect(try await fixture.refusal(CallFixture.v2 + "accounts/mfa\(call)", json, withApp: false).status == 403)
    }
    #expect(fixture.services.messages.isEmpty)
  }

  @Test func `A reply without what it stands for is our failure`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(StartSecondFactor.self) { _, _ in SecondFactorStarted() }
    fixture.services.on(FinishSecondFactor.self) { _, _ in AccountSignedIn() }
    for (call, json) in [
      ("Enrollment:start", #"{"idToken":"t","phoneEnrollmentInfo":{"phoneNumber":"+14155550123"}}"#),
      ("Enrollment:start", #"{"idToken":"t","totpEnrollmentInfo":{}}"#),
      ("SignIn:start", #"{"mfaPendingCredential":"p","mfaEnrollmentId":"f"}"#),
      ("SignIn:finalize", #"{"mfaPendingCredential":"p","phoneVerificationInfo":{"sessionInfo":"s","code":"1"}}"#),
    ] {
      #expect(try await fixture.refusal(CallFixture.v2 + "accounts/mfa\(call)", json).status == 500)
    }
  }
}
