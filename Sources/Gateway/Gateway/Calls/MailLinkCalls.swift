import CountersignMessages
import CountersignTelemetry
import Projects

/// Calls about the links of mails: send one, look at its code, do what it stands for.
struct MailLinkCalls: Sendable {
  let backend: Backend

  var routes: [Route] {
    [
      .v1(
        "sendOobCode", .post, "accounts:sendOobCode", old: "getOobConfirmationCode", waitsFor: .accounts, send),
      .administrators("sendUserOobCode", .post, "/accounts:sendOobCode", old: "getOobConfirmationCode", send),
      .v1("resetPassword", .post, "accounts:resetPassword", old: "resetPassword", waitsFor: .hashing, resetPassword),
      .v1(
        "signInWithEmailLink", .post, "accounts:signInWithEmailLink", old: "emailLinkSignin", waitsFor: .accounts,
        signIn),
    ]
  }

  // MARK: sendOobCode

  private func send(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let exchange = backend.exchange(SendMailLink.self)
    let purpose = try Self.purpose(of: call.body)
    let addresses = try Self.addresses(of: call, purpose)
    var command = SendMailLink(
      project: try call.project().id, purpose: purpose, addresses: try exchange.seal(addresses),
      replyKey: backend.replyKey)
    command.app = call.app?.id
    command.returnsLink = try Self.returnsLink(call)
    command.bearer = try exchange.seal(ifAny: call.bearer)
    if call.bearer == nil, [.verifyAddress, .changeAddress].contains(purpose) {
      command.idToken = try exchange.seal(call.body.requiredIDToken())
    }
    command.continueURL = try call.body.secret("continueUrl", else: "INVALID_CONTINUE_URI")
    command.opensInApp = try call.body.bool("canHandleCodeInApp")
    command.bundleID = try call.body.word("iOSBundleId", else: "INVALID_CONTINUE_URI")
    let domain = call.body.has("linkDomain") ? "linkDomain" : "dynamicLinkDomain"
    command.linkDomain = try call.body.word(domain, else: "UNAUTHORIZED_DOMAIN")
    command.languageCode = call.client.locale
    command.client = call.client.field
    return try Self.answer(await exchange.ask(command), exchange)
  }

  private static func purpose(of body: CallBody) throws(ProtocolError) -> MailLinkPurpose {
    guard let word = try body.enumeration("requestType", ProtocolEnumeration.mailLink),
      word != ProtocolEnumeration.mailLink.first
    else { throw .account("MISSING_REQ_TYPE") }
    // Taking a change back is what the mail about it offers.
    guard let purpose = MailLinkPurpose(requestType: word),
      ![.recoverAddress, .revertSecondFactor].contains(purpose)
    else {
      throw .account("INVALID_REQ_TYPE", "Unsupported request parameters.")
    }
    return purpose
  }

  private static func addresses(
    of call: Call, _ purpose: MailLinkPurpose
  ) throws(ProtocolError) -> MailLinkAddresses {
    let email = try call.body.word("email", else: "INVALID_EMAIL")
    let newEmail = try call.body.word("newEmail", else: "INVALID_EMAIL")
    let isOfCaller = [.verifyAddress, .changeAddress].contains(purpose) && call.bearer == nil
    if email == nil, !isOfCaller { throw .account("MISSING_EMAIL") }
    if isOfCaller { _ = try call.body.requiredIDToken() }
    if purpose == .changeAddress, newEmail == nil { throw .account("MISSING_NEW_EMAIL") }
    return MailLinkAddresses(email: isOfCaller ? nil : email, newEmail: purpose == .changeAddress ? newEmail : nil)
  }

  /// A link in the answer opens the account to who asked, so administrators alone get it.
  private static func returnsLink(_ call: Call) throws(ProtocolError) -> Bool? {
    guard try call.body.bool("returnOobLink") == true else { return nil }
    guard call.bearer != nil else {
      throw .account("INSUFFICIENT_PERMISSION", "Only authenticated requests can ask for the link.")
    }
    return true
  }

  private static func answer(
    _ reply: MailLinkSent, _ exchange: CommandExchange<SendMailLink>
  ) throws(ProtocolError) -> CallAnswer {
    var answer = CallAnswer(kind: AnswerKind.sendOobCode)
    answer.put("email", reply.email)
    if let link = reply.link {
      let link = try exchange.open(link, as: MailLink.self)
      answer.put("oobCode", link.code)
      answer.put("oobLink", link.url)
    }
    return answer
  }

  // MARK: resetPassword

  /// Without a password it tells what a code is, of any kind.
  private func resetPassword(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let code = try call.body.requiredCode()
    let password = try call.body.secret("newPassword", else: "WEAK_PASSWORD")
    let link = MailLinkCode(code: code, call: call, backend: backend)
    let reply = if let password { try await link.apply(newPassword: password) } else { try await link.look() }
    var answer = CallAnswer(kind: AnswerKind.resetPassword)
    // The user of a link that signs in has to know where it was sent: that is what keeps it from others.
    answer.put("email", reply.purpose == .signIn ? nil : reply.email)
    answer.put("newEmail", reply.newEmail)
    answer.put("requestType", reply.purpose.requestType)
    answer.put("mfaInfo", object: reply.secondFactor?.enrollment)
    return answer
  }

  // MARK: signInWithEmailLink

  private func signIn(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let email = try call.body.word("email", else: "INVALID_EMAIL", missing: "MISSING_EMAIL")
    let credential = MailLinkCredential(email: email, code: try call.body.requiredCode())
    let exchange = backend.exchange(SignInWithMailLink.self)
    var command = SignInWithMailLink(
      project: try call.project().id, credential: try exchange.seal(credential), replyKey: backend.replyKey)
    command.app = call.app?.id
    command.idToken = try exchange.seal(ifAny: call.body.secret("idToken", else: "INVALID_ID_TOKEN"))
    command.client = call.client.field
    let reply = try await exchange.ask(command)
    var answer = CallAnswer(kind: AnswerKind.signInWithEmailLink)
    if let identity = reply.identity {
      answer.put("email", try exchange.open(identity, as: SignedInIdentity.self).email)
    }
    if let pending = try exchange.pendingSignIn(of: reply) {
      answer.put(pending)
      return answer
    }
    guard let tokens = reply.tokens, let localID = reply.localID else { throw .internalError }
    answer.put("localId", localID)
    answer.put("isNewUser", reply.isNewUser ?? false)
    answer.put(try exchange.open(tokens))
    return answer
  }

  // MARK: update

  /// `accounts:update` with a code: does what it stands for, and answers without tokens.
  func apply(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let reply = try await MailLinkCode(code: try call.body.requiredCode(), call: call, backend: backend).apply()
    var answer = CallAnswer(kind: AnswerKind.update)
    answer.put("localId", reply.localID)
    answer.put("email", reply.purpose == .changeAddress ? reply.newEmail ?? reply.email : reply.email)
    answer.put("emailVerified", ifSo: reply.purpose != .revertSecondFactor)
    return answer
  }
}

/// The code of a link, as a call or a page brings it.
struct MailLinkCode: Sendable {
  let code: String
  let call: Call
  let backend: Backend

  /// Looks at what the code stands for. It stays good.
  func look() async throws(ProtocolError) -> MailLinkApplied {
    try await ask(newPassword: nil, isLook: true)
  }

  /// Does what the code stands for, once.
  func apply(newPassword: String? = nil) async throws(ProtocolError) -> MailLinkApplied {
    try await ask(newPassword: newPassword, isLook: nil)
  }

  private func ask(newPassword: String?, isLook: Bool?) async throws(ProtocolError) -> MailLinkApplied {
    let exchange = backend.exchange(ApplyMailLink.self)
    var command = ApplyMailLink(project: try call.project().id, code: try exchange.seal(code))
    command.app = call.app?.id
    command.newPassword = try exchange.seal(ifAny: newPassword)
    command.isLook = isLook
    command.client = call.client.field
    return try await exchange.ask(command, timeout: newPassword == nil ? Broker.usualTimeout : Broker.startTimeout)
  }
}

extension MailLinkPurpose {
  private static let requestTypes: [(MailLinkPurpose, String)] = [
    (.resetPassword, "PASSWORD_RESET"), (.signIn, "EMAIL_SIGNIN"), (.verifyAddress, "VERIFY_EMAIL"),
    (.changeAddress, "VERIFY_AND_CHANGE_EMAIL"), (.recoverAddress, "RECOVER_EMAIL"),
    (.revertSecondFactor, "REVERT_SECOND_FACTOR_ADDITION"),
  ]

  init?(requestType: String) {
    guard let known = Self.requestTypes.first(where: { $0.1 == requestType }) else { return nil }
    self = known.0
  }

  /// Name in the protocol.
  var requestType: String? { Self.requestTypes.first { $0.0 == self }?.1 }
}

extension CallBody {
  func requiredCode() throws(ProtocolError) -> String {
    try word("oobCode", else: "INVALID_OOB_CODE", missing: "MISSING_OOB_CODE")
  }
}
