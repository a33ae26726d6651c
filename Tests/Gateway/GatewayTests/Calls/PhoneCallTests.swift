import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Gateway

@Suite struct PhoneCallTests {
  private static let send = CallFixture.v1 + "accounts:sendVerificationCode"
  private static let verify = CallFixture.v1 + "accounts:verifyIosClient"

  private func fixture(_ recaptcha: Project.Recaptcha? = nil) throws -> CallFixture {
    let fixture = try CallFixture(recaptcha: recaptcha)
    fixture.services.on(StartVerification.self) { command, _ in Self.started(command) }
    return fixture
  }

  static func started(_ command: StartVerification, testNumber: Bool = false) -> VerificationStarted {
    VerificationStarted(
      verificationID: "session-1", app: command.app, phoneNumber: command.phoneNumber, codeLength: 6,
      expiresAt: CallFixture.now + .seconds(300), resendAfter: 30, resent: false, testNumber: testNumber)
  }

  @Test(arguments: [send, CallFixture.v3 + "sendVerificationCode"])
  func `A code is asked for, under both names`(path: String) async throws {
    let fixture = try fixture()
    let answer = try await fixture.post(
      path, #"{"phoneNumber":"+14155550123","iosReceipt":"r","iosSecret":"s","clientType":"CLIENT_TYPE_IOS"}"#,
      locale: "pt-BR")
    #expect(answer == ["sessionInfo": "session-1"])
    #expect(
      fixture.services.bodies == [
        [
          "phoneNumber": "+14155550123", "app": "com.example.push", "languageCode": "pt-BR",
          "proof": ["receipt": "r", "secret": "s"],
          "client": [
            "ip": "192.0.2.1", "userAgent": "FirebaseAuth.iOS/11", "instance": "com.example.push FirebaseAuth.iOS/11",
          ],
        ]
      ])
  }

  @Test(
    arguments: [
      (#""iosReceipt":"r","iosSecret":"s""#, ["receipt": "r", "secret": "s"]),
      (#""ios_receipt":"r","ios_secret":"s""#, ["receipt": "r", "secret": "s"]),
      (#""iosReceipt":"r""#, ["receipt": "r"]),
      (#""recaptchaToken":"t""#, ["recaptchaToken": "t"]),
      (#""recaptchaToken":"t","iosReceipt":"r""#, ["recaptchaToken": "t", "receipt": "r"]),
      (#""recaptchaToken":"t","captchaResponse":"NO_RECAPTCHA","recaptchaVersion":1"#, ["recaptchaToken": "t"]),
      (
        #""captchaResponse":"e","recaptchaVersion":"RECAPTCHA_ENTERPRISE","clientType":1"#,
        ["recaptchaToken": "e", "recaptchaAction": "sendVerificationCode"]
      ),
      (#""captchaResponse":"NO_RECAPTCHA""#, nil),
      (#""captchaResponse":"","iosReceipt":null"#, nil),
    ] as [(String, JSONValue?)])
  func `Proofs reach the coordinator`(fields: String, proof: JSONValue?) async throws {
    let fixture = try fixture()
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123",\#(fields)}"#)
    #expect(fixture.services.bodies.first?["proof"] == proof)
    #expect(fixture.services.bodies.count == 1)
  }

  @Test func `The user agent of a client cannot break a command`() async throws {
    let fixture = try fixture()
    let body = try CallBody(json: Array(#"{"phoneNumber":"+14155550123"}"#.utf8))
    let answer = try await fixture.answer(Self.send, .post, body: body, userAgent: "a\tb\u{7F}\u{1B}[31m é")
    #expect(try JSONValue(parsing: answer.json) == ["sessionInfo": "session-1"])
    let client = fixture.services.bodies.first?["client"]
    #expect(client?["userAgent"] == "ab[31m é" && client?["instance"] == "com.example.push ab[31m é")
  }

  @Test(
    arguments: [
      (#"{}"#, "MISSING_PHONE_NUMBER"),
      (#"{"phoneNumber":""}"#, "MISSING_PHONE_NUMBER"),
      (#"{"phoneNumber":null}"#, "MISSING_PHONE_NUMBER"),
      (#"{"phoneNumber":"4155550123"}"#, "INVALID_PHONE_NUMBER : Invalid format."),
      (#"{"phoneNumber":" +14155550123"}"#, "INVALID_PHONE_NUMBER : Invalid format."),
      (#"{"phoneNumber":"+\#(String(repeating: "1", count: 300))"}"#, "INVALID_PHONE_NUMBER"),
      (
        #"{"phoneNumber":"+14155550123","iosReceipt":"\#(String(repeating: "r", count: 300))"}"#,
        "INVALID_APP_CREDENTIAL"
      ),
      (
        #"{"phoneNumber":"+14155550123","iosSecret":"\#(String(repeating: "r", count: 17_000))"}"#,
        "INVALID_APP_CREDENTIAL"
      ),
      (
        #"{"phoneNumber":"+14155550123","recaptchaToken":"\#(String(repeating: "r", count: 17_000))"}"#,
        "CAPTCHA_CHECK_FAILED"
      ),
      (
        #"{"phoneNumber":"+14155550123","captchaResponse":"\#(String(repeating: "r", count: 17_000))"}"#,
        "INVALID_RECAPTCHA_TOKEN"
      ),
    ])
  func `Wrong requests are refused before anything is asked`(json: String, message: String) async throws {
    #expect(try await fixture().unasked(Self.send, json).message == message)
  }

  @Test(
    arguments: [
      #"{"phoneNumber":14155550123}"#, #"{"phoneNumber":["+14155550123"]}"#, #"{"phoneNumber":{"a":1}}"#,
      #"{"phoneNumber":"+14155550123","recaptchaVersion":"RECAPTCHA_4"}"#,
      #"{"phoneNumber":"+14155550123","clientType":17}"#, #"{"phoneNumber":"+14155550123","iosSecret":true}"#,
    ])
  func `Fields of a wrong type are refused without their value`(json: String) async throws {
    let error = try await fixture().unasked(Self.send, json)
    #expect(error.word == "INVALID_ARGUMENT")
    #expect(!error.message.contains("4155550123") && !error.message.contains("17"))
  }

  @Test func `Tenants are not offered, and an app is needed`() async throws {
    let fixture = try fixture()
    let json = #"{"phoneNumber":"+14155550123","tenantId":"t"}"#
    #expect(try await fixture.refusal(Self.send, json).status == 501)
    #expect(try await fixture.refusal(Self.send, #"{"phoneNumber":"+14155550123"}"#, withApp: false).status == 403)
    #expect(fixture.services.messages.isEmpty)
  }

  @Test func `Where phones do not sign in, no SMS is paid for`() async throws {
    let error = try await CallFixture(methods: [.anonymous]).unasked(Self.send, #"{"phoneNumber":"+14155550123"}"#)
    #expect(error.message.hasPrefix("OPERATION_NOT_ALLOWED : "))
  }

  @Test(
    arguments: [
      "", #","captchaResponse":"NO_RECAPTCHA""#, #","captchaResponse":"""#, #","recaptchaToken":"t""#,
      #","iosReceipt":"r","iosSecret":"s""#,
    ])
  func `Enforced, only a token of reCAPTCHA Enterprise will do`(fields: String) async throws {
    let fixture = try fixture(.init(enterpriseKey: "projects/p/keys/k", phone: .enforce))
    // Fictional numbers pass, which the coordinator alone knows; another proof in the token's place counts for nothing.
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123"\#(fields)}"#)
    #expect(fixture.services.bodies.last?["fictionalOnly"] == true && fixture.services.bodies.last?["proof"] == nil)
    fixture.services.refuse(
      StartVerification.self, APIError(.missingClientIdentifier, "x", field: "proof", reason: "FICTIONAL_ONLY"))
    let error = try await fixture.refusal(Self.send, #"{"phoneNumber":"+14155550123"\#(fields)}"#)
    #expect(error.status == 400 && error.message == "MISSING_RECAPTCHA_TOKEN")
  }

  @Test func `A token is judged whatever else would be demanded`() async throws {
    for phone in [Project.Recaptcha.Enforcement.off, .audit, .enforce] {
      let fixture = try fixture(.init(enterpriseKey: "projects/p/keys/k", phone: phone))
      _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123","captchaResponse":"made-up"}"#)
      let body = try #require(fixture.services.bodies.last)
      #expect(body["fictionalOnly"] == nil && body["proof"]?["recaptchaToken"] == "made-up")
    }
  }

  @Test(
    arguments: [("recaptchaToken", "recaptchaToken"), ("captchaResponse", "recaptchaToken"), ("iosSecret", "secret")])
  func `A client's text that looks sealed is no proof, and reveals no wrong configuration`(name: String, field: String)
    async throws
  {
    let fixture = try fixture()
    let sealed = "eyJ.a.b.c.d"
    #expect(SecretField(Secret(sealed)).isSealed)
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123","iosReceipt":"r","\#(name)":"\#(sealed)"}"#)
    #expect(fixture.services.bodies.last?["proof"]?[field] == "-")
  }

  @Test(
    arguments: [
      ("", nil),
      (#","captchaResponse":"e""#, ["recaptchaToken": "e", "recaptchaAction": "sendVerificationCode"]),
      (#","captchaResponse":"e","iosReceipt":"r","iosSecret":"s""#, ["receipt": "r", "secret": "s"]),
      (#","captchaResponse":"e","recaptchaToken":"t""#, ["recaptchaToken": "t"]),
    ] as [(String, JSONValue?)])
  func `Audited, a token never blocks`(fields: String, proof: JSONValue?) async throws {
    let fixture = try fixture(.init(enterpriseKey: "projects/p/keys/k", phone: .audit))
    _ = try await fixture.post(Self.send, #"{"phoneNumber":"+14155550123"\#(fields)}"#)
    #expect(fixture.services.bodies.first?["proof"] == proof)
  }

  @Test(
    arguments: [
      (.enforce, "CAPTCHA_ACTION_MISMATCH", "INVALID_RECAPTCHA_ACTION"),
      (.enforce, "CAPTCHA_INVALID", "INVALID_RECAPTCHA_TOKEN"),
      (.enforce, "CAPTCHA_REPLAYED", "INVALID_RECAPTCHA_TOKEN"),
      (.enforce, "CAPTCHA_SCORE_TOO_LOW", "CAPTCHA_CHECK_FAILED"),
      (.audit, "CAPTCHA_SCORE_TOO_LOW", "INVALID_APP_CREDENTIAL"),
      (.audit, "CAPTCHA_ACTION_MISMATCH", "INVALID_APP_CREDENTIAL"),
    ] as [(Project.Recaptcha.Enforcement, String, String)])
  func `A refused token is told so that SDKs do the right thing`(
    enforcement: Project.Recaptcha.Enforcement, reason: String, message: String
  ) async throws {
    let fixture = try fixture(.init(enterpriseKey: "projects/p/keys/k", phone: enforcement))
    fixture.services.refuse(
      StartVerification.self,
      APIError(.captchaCheckFailed, "refused", field: "proof.recaptchaToken", reason: reason))
    let error = try await fixture.refusal(Self.send, #"{"phoneNumber":"+14155550123","captchaResponse":"e"}"#)
    #expect(error.message == message)
  }

  @Test(
    arguments: [
      (#","captchaResponse":"NO_RECAPTCHA""#, "INVALID_APP_CREDENTIAL"), ("", "MISSING_CLIENT_IDENTIFIER"),
      (#","captchaResponse":"NO_RECAPTCHA","iosReceipt":"r""#, "MISSING_CLIENT_IDENTIFIER"),
    ])
  func `An SDK that could not solve an audited token falls back to another proof`(fields: String, message: String)
    async throws
  {
    let fixture = try fixture(.init(enterpriseKey: "projects/p/keys/k", phone: .audit))
    fixture.services.refuse(StartVerification.self, APIError(.missingClientIdentifier, "no proof", field: "proof"))
    let error = try await fixture.refusal(Self.send, #"{"phoneNumber":"+14155550123"\#(fields)}"#)
    #expect(error.status == 400 && error.message == message)
  }

  @Test func `A proof that the coordinator cannot open is counted, also while tokens are audited`() async throws {
    let fixture = try fixture(.init(enterpriseKey: "projects/p/keys/k", phone: .audit))
    let series = "countersign_gateway_misconfigured_total{reason=\"SEALING_REQUIRED\"}"
    #expect(fixture.metrics.render().contains("\(series) 0"))
    fixture.services.refuse(
      StartVerification.self, APIError(.invalidArgument, "cannot be opened", field: "proof.recaptchaToken"))
    let error = try await fixture.refusal(Self.send, #"{"phoneNumber":"+14155550123","captchaResponse":"e"}"#)
    #expect(error.message == "INVALID_APP_CREDENTIAL")
    #expect(fixture.metrics.render().contains("\(series) 1"))
  }

  @Test func `Limits stay limits while tokens are audited`() async throws {
    let fixture = try fixture(.init(enterpriseKey: "projects/p/keys/k", phone: .audit))
    fixture.services.refuse(StartVerification.self, APIError(.tooManyAttempts, "x", field: "client.ip", retryAfter: 60))
    let error = try await fixture.refusal(Self.send, #"{"phoneNumber":"+14155550123","captchaResponse":"e"}"#)
    #expect(error.message.hasPrefix("TOO_MANY_ATTEMPTS_TRY_LATER : ") && error.retryAfter == 60)
  }

  @Test(
    arguments: [
      ("", "unknown"), (#","isSandbox":true"#, "sandbox"), (#","isSandbox":false"#, "production"),
      (#","is_sandbox":"true""#, "sandbox"),
    ])
  func `A push is asked for, and the time-out is a text`(fields: String, environment: String) async throws {
    let fixture = try fixture()
    fixture.services.on(VerifyApp.self) { _, _ in AppVerifying(receipt: "receipt-1", suggestedTimeout: 10) }
    for path in [Self.verify, CallFixture.v3 + "verifyClient"] {
      let answer = try await fixture.post(path, #"{"appToken":"ABCD"\#(fields)}"#)
      #expect(answer == ["receipt": "receipt-1", "suggestedTimeout": "10"])
    }
    let body = try #require(fixture.services.bodies.last)
    #expect(body["app"] == "com.example.push" && body["deviceToken"] == "ABCD")
    #expect(body["environment"]?.text == environment && body["client"]?["ip"] == "192.0.2.1")
  }

  @Test(
    arguments: [
      (#"{}"#, "MISSING_IOS_APP_TOKEN"), (#"{"appToken":""}"#, "MISSING_IOS_APP_TOKEN"),
      (#"{"appToken":"\#(String(repeating: "a", count: 2_000))"}"#, "INVALID_APP_CREDENTIAL"),
    ])
  func `An app without a good token falls back to reCAPTCHA`(json: String, message: String) async throws {
    #expect(try await fixture().unasked(Self.verify, json).message == message)
  }
}
