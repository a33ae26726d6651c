import CountersignMessages
import CountersignTelemetry
import Projects

/// Calls that enrol second factors, sign in with them, and take them away.
struct SecondFactorCalls: Sendable {
  let backend: Backend
  /// `nil` outside of development mode.
  let codes: SentCodes?
  let clock: any WallClock

  /// A path is the same for both kinds, so what waits for `accounts` alone has the class of numbers, too.
  var routes: [Route] {
    [
      .v2(
        "mfaEnrollmentStart", .post, "accounts/mfaEnrollment:start", waitsFor: .coordinator, startEnrollment),
      .v2(
        "mfaEnrollmentFinalize", .post, "accounts/mfaEnrollment:finalize", waitsFor: .coordinator, finishEnrollment),
      .v2("mfaEnrollmentWithdraw", .post, "accounts/mfaEnrollment:withdraw", waitsFor: .accounts, withdraw),
      .v2("mfaSignInStart", .post, "accounts/mfaSignIn:start", waitsFor: .coordinator, startSignIn),
      .v2("mfaSignInFinalize", .post, "accounts/mfaSignIn:finalize", waitsFor: .coordinator, finishSignIn),
    ]
  }

  // MARK: mfaEnrollment

  private func startEnrollment(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let token = try call.body.requiredIDToken()
    let factor = try FactorPart("EnrollmentInfo", of: call.body)
    let exchange = backend.exchange(StartSecondFactor.self)
    var command = StartSecondFactor(
      project: try call.project().id, kind: factor.kind, replyKey: backend.replyKey)
    command.idToken = try exchange.seal(token)
    command.client = call.client.field
    var answer = CallAnswer()
    switch factor.kind {
    case .phone:
      command.phoneNumber = try factor.fields.phoneNumber()
      answer.put(
        "phoneSessionInfo",
        object: try await sendCode(command, factor.fields, for: .secondFactorEnrollment, call, exchange))
    case .totp:
      guard let secret = try await exchange.ask(command).sharedSecret else { throw .internalError }
      answer.put("totpSessionInfo", object: try exchange.open(secret, as: SharedSecret.self).session)
    }
    return answer
  }

  private func finishEnrollment(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let token = try call.body.requiredIDToken()
    let factor = try FactorPart("VerificationInfo", of: call.body)
    let exchange = backend.exchange(FinishSecondFactor.self)
    var command = FinishSecondFactor(
      project: try call.project().id, kind: factor.kind, replyKey: backend.replyKey)
    command.idToken = try exchange.seal(token)
    command.displayName = try call.body.text("displayName")
    return try await finish(command, factor, session: try factor.fields.requiredSessionInfo(), call, exchange)
  }

  private func withdraw(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let token = try call.body.requiredIDToken()
    let exchange = backend.exchange(WithdrawSecondFactor.self)
    let reply = try await exchange.ask(
      WithdrawSecondFactor(
        project: try call.project().id, idToken: try exchange.seal(token),
        enrollmentID: try call.body.requiredEnrollmentID(), replyKey: backend.replyKey))
    return try Self.tokens(reply, exchange)
  }

  // MARK: mfaSignIn

  /// A number alone has a start: codes of an authenticator need none.
  private func startSignIn(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let credential = try call.body.requiredPendingCredential()
    let exchange = backend.exchange(StartSecondFactor.self)
    var command = StartSecondFactor(project: try call.project().id, kind: .phone, replyKey: backend.replyKey)
    command.pendingCredential = try exchange.seal(credential)
    command.enrollmentID = try call.body.requiredEnrollmentID()
    command.client = call.client.field
    let info = try call.body.object("phoneSignInInfo") ?? .empty
    var answer = CallAnswer()
    answer.put(
      "phoneResponseInfo", object: try await sendCode(command, info, for: .secondFactorSignIn, call, exchange))
    return answer
  }

  private func finishSignIn(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let credential = try call.body.requiredPendingCredential()
    let factor = try FactorPart("VerificationInfo", of: call.body)
    let exchange = backend.exchange(FinishSecondFactor.self)
    var command = FinishSecondFactor(
      project: try call.project().id, kind: factor.kind, replyKey: backend.replyKey)
    command.pendingCredential = try exchange.seal(credential)
    switch factor.kind {
    case .phone:
      return try await finish(command, factor, session: try factor.fields.requiredSessionInfo(), call, exchange)
    case .totp:
      command.enrollmentID = try call.body.requiredEnrollmentID()
      return try await finish(command, factor, session: nil, call, exchange)
    }
  }

  // MARK: Both

  private func sendCode(
    _ order: StartSecondFactor, _ fields: CallBody, for purpose: VerificationPurpose, _ call: Call,
    _ exchange: CommandExchange<StartSecondFactor>
  ) async throws(ProtocolError) -> CallAnswer {
    let project = try call.project()
    let proof = try ProofFields(fields, for: purpose, project)
    var command = order
    command.app = try call.requiredApp().id
    command.languageCode = call.client.locale
    // accounts seals it to the coordinator, which it asks for the code.
    command.proof = try proof.field { (secret) throws(ProtocolError) in try exchange.seal(secret.reveal()) }
    if proof.lacksToken { command.fictionalOnly = true }
    let askedAt = clock.now()
    guard let started = try await exchange.start(command, proof).verification else { throw .internalError }
    codes?.remember(started, for: purpose, of: project, askedAt: askedAt)
    var session = CallAnswer()
    session.put("sessionInfo", started.verificationID)
    return session
  }

  private func finish(
    _ order: FinishSecondFactor, _ factor: FactorPart, session: String?, _ call: Call,
    _ exchange: CommandExchange<FinishSecondFactor>
  ) async throws(ProtocolError) -> CallAnswer {
    var command = order
    command.sessionInfo = try exchange.seal(ifAny: session)
    command.code = try exchange.seal(try factor.fields.requiredInput(factor.codeName))
    command.client = call.client.field
    if factor.kind == .phone { command.app = try call.requiredApp().id }
    let reply = try await exchange.ask(command, timeout: Broker.startTimeout)
    if let session { codes?.forget(sessionInfo: session, project: command.project) }
    return try Self.tokens(reply, exchange)
  }

  /// Both tokens, which SDKs put into what they have of the user.
  private static func tokens<C: Command>(
    _ reply: AccountSignedIn, _ exchange: CommandExchange<C>
  ) throws(ProtocolError) -> CallAnswer where C.Reply == AccountSignedIn {
    guard let sealed = reply.tokens else { throw .internalError }
    let tokens = try exchange.open(sealed)
    var answer = CallAnswer()
    answer.put("idToken", tokens.idToken.reveal())
    answer.put("refreshToken", tokens.refreshToken.reveal())
    return answer
  }
}

/// Part of a call whose name tells the kind of the factor: `totpVerificationInfo`, else `phoneVerificationInfo`.
private struct FactorPart {
  let kind: SecondFactorKind
  let fields: CallBody

  /// A part that is missing lacks all of its fields, whose codes SDKs know.
  init(_ name: String, of body: CallBody) throws(ProtocolError) {
    if let fields = try body.object("totp\(name)") {
      (kind, self.fields) = (.totp, fields)
    } else {
      (kind, fields) = (.phone, try body.object("phone\(name)") ?? .empty)
    }
  }

  var codeName: String {
    switch kind {
    case .phone: "code"
    case .totp: "verificationCode"
    }
  }
}

extension CallBody {
  fileprivate func requiredPendingCredential() throws(ProtocolError) -> String {
    try secret(
      "mfaPendingCredential", else: "INVALID_MFA_PENDING_CREDENTIAL", missing: "MISSING_MFA_PENDING_CREDENTIAL")
  }

  fileprivate func requiredEnrollmentID() throws(ProtocolError) -> String {
    try word("mfaEnrollmentId", else: "MFA_ENROLLMENT_NOT_FOUND", missing: "MISSING_MFA_ENROLLMENT_ID")
  }
}

extension SharedSecret {
  /// All authenticators take the algorithm, and some no other (RFC 6238, section 1.2).
  private static let algorithm = "SHA1"

  fileprivate var session: CallAnswer {
    var session = CallAnswer()
    session.put("sharedSecretKey", key)
    session.put("verificationCodeLength", number: codeLength)
    session.put("hashingAlgorithm", Self.algorithm)
    session.put("periodSec", number: period)
    session.put("sessionInfo", sessionInfo)
    session.put("finalizeEnrollmentTime", expiresAt.rfc3339)
    return session
  }
}
