import CountersignMessages
import CountersignTelemetry
import Projects

struct PhoneCalls: Sendable {
  let backend: Backend
  /// `nil` outside of development mode.
  let codes: SentCodes?
  let clock: any WallClock

  var routes: [Route] {
    [
      .v1(
        "verifyIosClient", .post, "accounts:verifyIosClient", old: "verifyClient", waitsFor: .coordinator,
        verifyIosClient),
      .v1(
        "sendVerificationCode", .post, "accounts:sendVerificationCode", old: "sendVerificationCode",
        waitsFor: .coordinator, sendVerificationCode),
      .v1(
        "signInWithPhoneNumber", .post, "accounts:signInWithPhoneNumber", old: "verifyPhoneNumber",
        waitsFor: .coordinator, signInWithPhoneNumber),
    ]
  }

  // MARK: verifyIosClient

  /// Has a secret pushed to the device. The coordinator pushes after its reply is out, because an app ignores a push
  /// whose receipt it does not know; so nothing may delay the answer.
  private func verifyIosClient(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try call.body.checkTenant()
    guard let token = try call.body.text("appToken") else { throw .account("MISSING_IOS_APP_TOKEN") }
    guard token.utf8.count <= Self.maxDeviceTokenBytes else { throw .account("INVALID_APP_CREDENTIAL") }
    let isSandbox = try call.body.bool("isSandbox")
    let reply = try await backend.ask(
      VerifyApp(
        app: try call.requiredApp().id, deviceToken: token, environment: Self.environment(isSandbox),
        client: call.client.field))
    var answer = CallAnswer()
    answer.put("receipt", reply.receipt)
    answer.put("suggestedTimeout", asText: reply.suggestedTimeout)
    return answer
  }

  /// A device token in hexadecimal has 64 digits today. Apple announced 200.
  private static let maxDeviceTokenBytes = 1024

  /// The Apple SDK says nothing for production, and for builds whose service it cannot tell.
  private static func environment(_ isSandbox: Bool?) -> PushEnvironment {
    switch isSandbox {
    case true?: .sandbox
    case false?: .production
    case nil: .unknown
    }
  }

  // MARK: sendVerificationCode

  private func sendVerificationCode(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try call.body.checkTenant()
    let project = try call.project()
    // accounts refuses the sign-in; no SMS is to be paid for before.
    guard project.methods.contains(.phone) else { throw .methodOff }
    let number = try Self.phoneNumber(call.body)
    let enforcement = project.recaptcha?.phone ?? .off
    let proof = try ProofFields(call.body, enforcement: enforcement)
    let app = try call.requiredApp()
    let exchange = backend.exchange(StartVerification.self)
    let evidence = try proof.field { (secret) throws(ProtocolError) in try exchange.seal(secret, forApp: app.id) }
    var command = StartVerification(
      phoneNumber: number, app: app.id, languageCode: call.client.locale, proof: evidence, client: call.client.field)
    if proof.lacksToken { command.fictionalOnly = true }
    let askedAt = clock.now()
    let started: VerificationStarted
    switch try await exchange.attempt(command, timeout: Broker.startTimeout) {
    case .success(let reply): started = reply
    case .failure(let error):
      // Whatever the client is told, a wrong configuration is counted.
      let refusal = exchange.refusal(error)
      throw proof.refusal(error, enforcement: enforcement) ?? refusal
    }
    remember(started, of: project, askedAt: askedAt)
    var answer = CallAnswer()
    answer.put("sessionInfo", started.verificationID)
    return answer
  }

  /// The coordinator judges whether the number exists.
  private static func phoneNumber(_ body: CallBody) throws(ProtocolError) -> String {
    guard let number = try body.word("phoneNumber", else: "INVALID_PHONE_NUMBER") else {
      throw .account("MISSING_PHONE_NUMBER")
    }
    guard number.utf8.first == UInt8(ascii: "+") else { throw .account("INVALID_PHONE_NUMBER", "Invalid format.") }
    return number
  }

  private func remember(_ started: VerificationStarted, of project: Project, askedAt: UnixTime) {
    guard let codes, !started.testNumber else { return }
    codes.remember(
      SentCodes.Session(
        project: project.id, app: started.app, phoneNumber: started.phoneNumber, sessionInfo: started.verificationID,
        codeLength: started.codeLength, since: askedAt, expiresAt: started.expiresAt),
      at: askedAt)
  }

  // MARK: signInWithPhoneNumber

  private func signInWithPhoneNumber(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try call.body.checkTenant()
    let project = try call.project()
    let exchange = backend.exchange(SignInWithPhone.self)
    var command = SignInWithPhone(project: project.id, replyKey: backend.replyKey)
    command.operation = try Self.operation(call.body)
    command.idToken = try exchange.seal(ifAny: try call.body.secret("idToken", else: "INVALID_ID_TOKEN"))
    command.client = call.client.field
    let session = try Self.put(evidenceOf: call, into: &command, exchange)
    let reply = try await exchange.ask(command, timeout: Broker.startTimeout)
    if let session { codes?.forget(sessionInfo: session, project: project.id) }
    return try Self.answer(reply, exchange)
  }

  private static func put(
    evidenceOf call: Call, into command: inout SignInWithPhone, _ exchange: CommandExchange<SignInWithPhone>
  ) throws(ProtocolError) -> String? {
    if let proof = try call.body.secret("temporaryProof", else: "INVALID_TEMPORARY_PROOF") {
      command.temporaryProof = try exchange.seal(proof)
      command.phoneNumber = try phoneNumber(call.body)
      command.app = try call.requiredApp().id
      return nil
    }
    let session = try required("sessionInfo", of: call.body, missing: "MISSING_SESSION_INFO", "INVALID_SESSION_INFO")
    let code = try required("code", of: call.body, missing: "MISSING_CODE", "INVALID_CODE")
    command.sessionInfo = try exchange.seal(session)
    command.code = try exchange.seal(code)
    command.app = try call.requiredApp().id
    return session
  }

  private static func required(
    _ name: String, of body: CallBody, missing: String, _ invalid: String
  ) throws(ProtocolError) -> String {
    guard let text = try body.word(name, else: invalid) else { throw .account(missing) }
    return text
  }

  private static func operation(_ body: CallBody) throws(ProtocolError) -> SignInWithPhone.Operation? {
    switch try body.enumeration("operation", ProtocolEnumeration.phoneOperation) {
    case "SIGN_UP_OR_IN": .signUpOrIn
    case "REAUTH": .reauthenticate
    case "UPDATE": .update
    case "LINK": .link
    default: nil
    }
  }

  /// Tokens, or a temporary proof without tokens, when the number belongs to another account.
  private static func answer(
    _ reply: AccountSignedIn, _ exchange: CommandExchange<SignInWithPhone>
  ) throws(ProtocolError) -> CallAnswer {
    var answer = CallAnswer()
    if let tokens = reply.tokens {
      answer.put(try exchange.open(tokens))
      answer.put("localId", reply.localID)
      answer.put("isNewUser", reply.isNewUser ?? false)
    } else if let proof = reply.temporaryProof {
      answer.put("temporaryProof", try exchange.open(proof).reveal())
      answer.put("temporaryProofExpiresIn", asText: reply.temporaryProofExpiresIn)
    } else {
      throw .internalError
    }
    answer.put("phoneNumber", reply.phoneNumber)
    return answer
  }
}
