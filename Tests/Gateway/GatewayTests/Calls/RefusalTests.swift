import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Gateway

@Suite struct RefusalTests {
  private static let lookup = CallFixture.v1 + "accounts:lookup"

  @Test(
    arguments: [
      "INVALID_PHONE_NUMBER", "MISSING_PHONE_NUMBER", "MISSING_SESSION_INFO", "MISSING_CODE", "INVALID_SESSION_INFO",
      "INVALID_CODE", "SESSION_EXPIRED", "INVALID_TEMPORARY_PROOF", "PHONE_NUMBER_EXISTS", "QUOTA_EXCEEDED",
      "TOO_MANY_ATTEMPTS_TRY_LATER", "OPERATION_NOT_ALLOWED", "MISSING_CLIENT_IDENTIFIER", "MISSING_APP_CREDENTIAL",
      "INVALID_APP_CREDENTIAL", "MISSING_IOS_APP_TOKEN", "APP_NOT_VERIFIED", "CAPTCHA_CHECK_FAILED", "MISSING_ID_TOKEN",
      "INVALID_ID_TOKEN", "TOKEN_EXPIRED", "USER_NOT_FOUND", "USER_DISABLED", "CREDENTIAL_TOO_OLD_LOGIN_AGAIN",
      "MISSING_REFRESH_TOKEN", "INVALID_REFRESH_TOKEN", "MISSING_OR_INVALID_NONCE", "INVALID_PENDING_TOKEN",
      "INVALID_PROVIDER_ID", "FEDERATED_USER_ID_ALREADY_LINKED", "EMAIL_EXISTS",
      "INVALID_EMAIL", "MISSING_EMAIL", "MISSING_PASSWORD", "EMAIL_NOT_FOUND", "INVALID_PASSWORD",
      "INVALID_LOGIN_CREDENTIALS", "INVALID_OOB_CODE", "EXPIRED_OOB_CODE", "UNAUTHORIZED_DOMAIN",
      "CREDENTIAL_MISMATCH", "DUPLICATE_LOCAL_ID", "CLAIMS_TOO_LARGE", "INVALID_CLAIMS", "INVALID_DURATION",
      "UNVERIFIED_EMAIL", "SECOND_FACTOR_EXISTS", "SECOND_FACTOR_LIMIT_EXCEEDED", "MFA_ENROLLMENT_NOT_FOUND",
      "MISSING_MFA_PENDING_CREDENTIAL", "INVALID_MFA_PENDING_CREDENTIAL", "MISSING_MFA_ENROLLMENT_ID",
    ])
  func `Codes of the protocol are passed on with our text`(code: String) {
    let error = ProtocolError(
      APIError(APIErrorCode(rawValue: code), "add it to 'regions.allowed' +14155550123", retryAfter: 7))
    #expect(error.status == 400 && error.retryAfter == 7)
    #expect(error.message == code || error.message.hasPrefix("\(code) : "))
    #expect(!error.message.contains("regions") && !error.message.contains("4155550123"))
  }

  @Test(arguments: APIErrorCode.known)
  func `Every code of the contract has its place`(code: APIErrorCode) {
    let ours: [APIErrorCode] = [.invalidArgument, .internalError, .projectNotFound]
    let others: [APIErrorCode: Int] = [
      .invalidAccessToken: 401, .insufficientPermission: 403, .configurationNotFound: 404, .configurationExists: 409,
    ]
    #expect(ProtocolError(APIError(code, "x")).status == (ours.contains(code) ? 500 : others[code] ?? 400))
  }

  @Test(
    arguments: [
      (
        APIError(.unsupportedFirstFactor, "MFA is not available for the given first factor."),
        "UNSUPPORTED_FIRST_FACTOR : MFA is not available for the given first factor."
      ),
      (
        APIError(
          .unsupportedFirstFactor, "A phone number cannot be set as a first factor on an SMS based MFA user."),
        "UNSUPPORTED_FIRST_FACTOR : A phone number cannot be set as a first factor on an SMS based MFA user."
      ),
      (
        APIError(.unverifiedEmail, "x"),
        "UNVERIFIED_EMAIL : Need to verify email first before enrolling second factors."
      ),
      (
        APIError(.secondFactorExists, "x", field: "phoneNumber"),
        "SECOND_FACTOR_EXISTS : Phone number already enrolled as second factor for this account."
      ),
      (APIError(.secondFactorExists, "x"), "SECOND_FACTOR_EXISTS"),
      (APIError(.consentRequired, "Consent to linking first."), "CONSENT_REQUIRED : Consent to linking first."),
      (APIError(.consentRequired, ""), "CONSENT_REQUIRED : A recorded consent to linking is needed."),
    ])
  func `Second factors and consents are refused in Google's words`(refusal: APIError, message: String) {
    let error = ProtocolError(refusal)
    #expect(error.status == 400 && error.message == message)
  }

  @Test func `A region that is off is told apart`() {
    let error = ProtocolError(APIError(.operationNotAllowed, "x", field: "phoneNumber"))
    #expect(error.message == "OPERATION_NOT_ALLOWED : SMS to this region are not enabled.")
    let other = APIError(.operationNotAllowed, "x", field: "phoneNumber", reason: "NUMBER_PROVEN_FOR_REAL")
    #expect(!ProtocolError(other).message.contains("region"))
  }

  @Test(
    arguments: [
      (APIError(.internalError, "x", retryAfter: 5), 503, 5),
      (APIError(.internalError, "x", reason: "COMMAND_TOO_OLD"), 503, 1), (APIError(.internalError, "x"), 500, nil),
      (APIError(.internalError, "x", reason: "CRASHED"), 500, nil),
      (APIError(APIErrorCode(rawValue: "NEW_CODE"), "x", retryAfter: 3), 500, nil),
    ] as [(APIError, Int, Int?)])
  func `Failures of ours are 503 where waiting helps, else 500`(refusal: APIError, status: Int, retryAfter: Int?) {
    let error = ProtocolError(refusal)
    #expect(error.status == status && error.retryAfter == retryAfter)
    #expect(error.word == (status == 503 ? "UNAVAILABLE" : "INTERNAL"))
  }

  @Test(
    arguments: [
      (APIError(.invalidArgument, "x", field: "idToken", reason: "SEAL_UNKNOWN_KEY"), "SEAL", 500),
      (APIError(.invalidArgument, "x", field: "idToken", reason: "SEAL_BROKEN"), "SEAL", 500),
      (APIError(.projectNotFound, "x", field: "project"), "PROJECT_NOT_FOUND", 500),
      (APIError(.invalidArgument, "x", field: "app"), "UNKNOWN_APP", 500),
      (APIError(.invalidArgument, "x", field: "proof.secret"), "SEALING_REQUIRED", 500),
      (APIError(.internalError, "x", reason: "CHECK_REFUSED"), "CHECK_REFUSED", 500),
      (APIError(.internalError, "x", reason: "START_REFUSED"), "CHECK_REFUSED", 500),
      (APIError(.internalError, "x", reason: "VERIFICATION_REFUSED"), "CHECK_REFUSED", 500),
      (APIError(.invalidArgument, "x", field: "variables.s", reason: "MISSING_VARIABLE"), "MISSING_VARIABLE", 500),
      (APIError(.internalError, "x", reason: "MISSING_VARIABLE"), "MISSING_VARIABLE", 500),
      (APIError(.operationNotAllowed, "x", field: "user_id"), "NOT_A_REQUESTER", 500),
      (APIError(.invalidArgument, "x", reason: "MESSAGE_ID_REUSED"), "INVALID_COMMAND", 500),
      (APIError(.operationNotAllowed, "x", field: "app", reason: "TRUSTED_OVER_HTTP"), "TRUSTED_OVER_HTTP", 400),
      (APIError(.operationNotAllowed, "x", reason: "DEVELOPMENT_ONLY"), "DEVELOPMENT_ONLY", 400),
      (APIError(.operationNotAllowed, "x", reason: "NOT_IN_DEVELOPMENT"), "DEVELOPMENT_ONLY", 400),
    ] as [(APIError, String, Int)])
  func `A wrong configuration is our failure: it is counted, and logged with a hint`(
    refusal: APIError, reason: String, status: Int
  ) async throws {
    let fixture = try CallFixture()
    fixture.services.refuse(LookUpAccount.self, refusal)
    for _ in 1...3 {
      let error = try await fixture.refusal(Self.lookup, #"{"idToken":"eyJ.a.b"}"#)
      #expect(error.status == status)
    }
    #expect(fixture.metrics.render().contains("countersign_gateway_misconfigured_total{reason=\"\(reason)\"} 3"))
    let lines = fixture.sink.events.filter { $0.message == "gateway and services are configured differently" }
    #expect(lines.count == 1)
    #expect(lines.first?.metadata[.hint] != nil)
    #expect(!fixture.log.contains("eyJ"))
    fixture.clocks.advance(by: .seconds(61))
    _ = try await fixture.refusal(Self.lookup, #"{"idToken":"eyJ.a.b"}"#)
    #expect(
      fixture.sink.events.filter { $0.message == "gateway and services are configured differently" }.count == 2)
  }

  @Test(
    arguments: [
      (
        APIError(.invalidArgument, "x", field: "app"), 500,
        "INTERNAL_ERROR : UNKNOWN_APP: add 'codes' to the project's app"
      ),
      (
        APIError(.operationNotAllowed, "x", reason: "NOT_IN_DEVELOPMENT"), 400,
        "OPERATION_NOT_ALLOWED : DEVELOPMENT_ONLY: set 'development'"
      ),
    ])
  func `Developers are told the remedy`(refusal: APIError, status: Int, text: String) async throws {
    for isDevelopment in [true, false] {
      let fixture = try CallFixture(isDevelopment: isDevelopment)
      fixture.services.refuse(LookUpAccount.self, refusal)
      let error = try await fixture.refusal(Self.lookup, #"{"idToken":"eyJ.a.b"}"#)
      #expect(error.status == status)
      #expect(error.message.hasPrefix(text) == isDevelopment)
    }
  }

  @Test func `Mistakes of users are no wrong configuration`() async throws {
    let fixture = try CallFixture()
    fixture.services.refuse(LookUpAccount.self, APIError(.invalidIDToken, "x", field: "idToken"))
    #expect(try await fixture.refusal(Self.lookup, #"{"idToken":"t"}"#).message == "INVALID_ID_TOKEN")
    let counts = fixture.metrics.render().split(separator: "\n").filter { $0.contains("misconfigured_total{") }
    #expect(counts.count == Misconfiguration.allCases.count && counts.allSatisfy { $0.hasSuffix(" 0") })
  }

  @Test func `With the keys of another accounts nothing can be opened`() async throws {
    let fixture = try CallFixture(otherKey: true)
    fixture.services.on(LookUpAccount.self) { command, asked in
      #expect(throws: (any Error).self) { try asked.open(command.idToken) }
      throw AMQPError(.protocolViolation, "the command cannot be opened")
    }
    #expect(try await fixture.refusal(Self.lookup, #"{"idToken":"t"}"#).status == 503)
    #expect(fixture.services.bodies.count == 1)
  }

  @Test func `Nothing behind the gateway: the client is to try again`() async throws {
    let fixture = try CallFixture()
    let error = try await fixture.refusal(Self.lookup, #"{"idToken":"t"}"#)
    #expect(error.status == 503 && error.word == "UNAVAILABLE" && error.retryAfter != nil)
  }

  @Test func `With a key ring proofs travel sealed to the coordinator`() async throws {
    let keys = try KeyRing(sealing: SymmetricKey(id: "k", bytes: Array(repeating: 1, count: 32)))
    let fixture = try CallFixture(sealer: Sealer(keys: keys))
    fixture.services.on(StartVerification.self) { command, asked in
      let context = SealContext(messageType: StartVerification.type, messageID: asked.messageID, recipient: command.app)
      let secret = try #require(command.proof?.secret)
      #expect(try Sealer(keys: keys).open(secret, for: context).reveal() == "secret-1" && secret.isSealed)
      return PhoneCallTests.started(command)
    }
    _ = try await fixture.post(
      CallFixture.v1 + "accounts:sendVerificationCode",
      #"{"phoneNumber":"+14155550123","iosReceipt":"r","iosSecret":"secret-1"}"#)
  }
}
