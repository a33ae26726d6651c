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
    let project = try call.project()
    // accounts refuses the sign-in; no SMS is to be paid for before.
    guard project.methods.contains(.phone) else { throw .methodOff }
    let number = try call.body.phoneNumber()
    let proof = try ProofFields(call.body, for: .signIn, project)
    let app = try call.requiredApp()
    let exchange = backend.exchange(StartVerification.self)
    let evidence = try proof.field { (secret) throws(ProtocolError) in try exchange.seal(secret, forApp: app.id) }
    var command = StartVerification(
      phoneNumber: number, app: app.id, languageCode: call.client.locale, proof: evidence, client: call.client.field)
    if proof.lacksToken { command.fictionalOnly = true }
    let askedAt = clock.now()
    let started = try await exchange.start(command, proof)
    codes?.remember(started, for: .signIn, of: project, askedAt: askedAt)
    var answer = CallAnswer()
    answer.put("sessionInfo", started.verificationID)
    return answer
  }

  // MARK: signInWithPhoneNumber

  private func signInWithPhoneNumber(_ call: Call) async throws(ProtocolError) -> CallAnswer {
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
      command.phoneNumber = try call.body.phoneNumber()
      command.app = try call.requiredApp().id
      return nil
    }
    let session = try call.body.requiredSessionInfo()
    let code = try call.body.requiredInput("code")
    command.sessionInfo = try exchange.seal(session)
    command.code = try exchange.seal(code)
    command.app = try call.requiredApp().id
    return session
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

  /// Tokens; or none: a pending credential, or a temporary proof when the number belongs to another account.
  private static func answer(
    _ reply: AccountSignedIn, _ exchange: CommandExchange<SignInWithPhone>
  ) throws(ProtocolError) -> CallAnswer {
    var answer = CallAnswer()
    if let pending = try exchange.pendingSignIn(of: reply) {
      answer.put(pending)
      return answer
    }
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

extension CallBody {
  /// The coordinator judges whether the number exists.
  func phoneNumber() throws(ProtocolError) -> String {
    let number = try word("phoneNumber", else: "INVALID_PHONE_NUMBER", missing: "MISSING_PHONE_NUMBER")
    guard number.utf8.first == UInt8(ascii: "+") else { throw .account("INVALID_PHONE_NUMBER", "Invalid format.") }
    return number
  }

  func requiredSessionInfo() throws(ProtocolError) -> String {
    try word("sessionInfo", else: "INVALID_SESSION_INFO", missing: "MISSING_SESSION_INFO")
  }

  /// The code that the user has entered.
  func requiredInput(_ name: String) throws(ProtocolError) -> String {
    try word(name, else: "INVALID_CODE", missing: "MISSING_CODE")
  }
}
