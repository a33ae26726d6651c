import CountersignMessages
import CountersignTelemetry
import Projects

/// Calls that wait for identity providers.
struct ProviderCalls: Sendable {
  let backend: Backend

  var routes: [Route] {
    [
      .v1(
        "signInWithIdp", .post, "accounts:signInWithIdp", old: "verifyAssertion", waitsFor: .providers, signInWithIDP),
      .v2("revokeToken", .post, "accounts:revokeToken", waitsFor: .providers, revokeToken),
    ]
  }

  // MARK: signInWithIdp

  private func signInWithIDP(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let project = try call.project()
    let credential = try IDPCredential(call.body)
    // accounts refuses it, too.
    if let provider = credential.providerID { try project.requireProvider(provider) }
    // accounts takes them in development, from any client.
    if project.emulatorTokens, credential.isUnsigned, !LocalRequest.isLocal(call.request) { throw .emulatorToken }
    let exchange = backend.exchange(SignInWithIDP.self)
    var command = SignInWithIDP(
      project: project.id, credential: try exchange.seal(credential), replyKey: backend.replyKey)
    command.app = call.app?.id
    command.idToken = try exchange.seal(ifAny: try call.body.secret("idToken", else: "INVALID_ID_TOKEN"))
    command.autoCreate = try call.body.bool("autoCreate")
    command.returnIDPCredential = try call.body.bool("returnIdpCredential")
    command.client = call.client.field
    let reply: AccountSignedIn
    do throws(ProtocolError) {
      reply = try await exchange.ask(command, timeout: Broker.startTimeout)
    } catch {
      throw error.ofProvider
    }
    return try Self.answer(reply, exchange)
  }

  /// Tokens; or none: a pending credential, or the credential alone when the sign-in or the link was refused.
  private static func answer(
    _ reply: AccountSignedIn, _ exchange: CommandExchange<SignInWithIDP>
  ) throws(ProtocolError) -> CallAnswer {
    var answer = CallAnswer(kind: AnswerKind.signInWithIDP)
    if let identity = reply.identity { answer.put(try exchange.open(identity, as: SignedInIdentity.self)) }
    if let token = reply.pendingToken { answer.put("pendingToken", try exchange.open(token).reveal()) }
    if let pending = try exchange.pendingSignIn(of: reply) {
      answer.put(pending)
    } else if let tokens = reply.tokens, let localID = reply.localID {
      answer.put(try exchange.open(tokens))
      answer.put("localId", localID)
      answer.put("isNewUser", ifSo: reply.isNewUser)
    } else if let code = reply.refusal {
      let error = ProtocolError(APIError(code, ""))
      guard error.status == 400 else { throw error }
      answer.put("errorMessage", error.message)
    } else if reply.needsConfirmation == true {
      answer.put("needConfirmation", true)
      answer.put("verifiedProvider", texts: reply.verifiedProviders ?? [])
    } else {
      throw .internalError
    }
    return answer
  }

  // MARK: revokeToken

  private func revokeToken(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let exchange = backend.exchange(RevokeToken.self)
    let idToken = try call.body.requiredIDToken()
    let provider = try call.body.word("providerId", else: "INVALID_PROVIDER_ID", missing: "INVALID_PROVIDER_ID")
    let kind = try Self.kind(call.body)
    guard let token = try call.body.secret("token", else: "INVALID_IDP_RESPONSE") else {
      throw .badField("token", expected: "a token of the provider")
    }
    var command = RevokeToken(
      project: try call.project().id, idToken: try exchange.seal(idToken), providerID: provider, tokenType: kind,
      token: try exchange.seal(token))
    command.app = try call.requiredApp().id
    command.redirectURI = try call.body.secret("redirectUri", else: "INVALID_IDP_RESPONSE")
    _ = try await exchange.ask(command)
    return CallAnswer()
  }

  private static func kind(_ body: CallBody) throws(ProtocolError) -> AppleToken.Kind {
    switch try body.enumeration("tokenType", ProtocolEnumeration.tokenType) {
    case "REFRESH_TOKEN": .refreshToken
    case "ACCESS_TOKEN": .accessToken
    case "CODE": .authorizationCode
    default: throw .badField("tokenType", expected: "REFRESH_TOKEN, ACCESS_TOKEN or CODE")
    }
  }
}

extension ProtocolError {
  fileprivate static let emulatorToken = account(
    "INVALID_IDP_RESPONSE", "Tokens for the emulator are taken from clients of this machine only.")
}

extension CallAnswer {
  fileprivate mutating func put(_ identity: SignedInIdentity) {
    put("providerId", identity.providerID)
    put("federatedId", identity.federatedID)
    put("email", identity.email)
    put("emailVerified", ifSo: identity.emailVerified)
    put("displayName", identity.displayName)
    put("fullName", identity.fullName)
    put("photoUrl", identity.photoURL)
    put("rawUserInfo", identity.rawUserInfo)
    put("oauthIdToken", identity.oauthIDToken)
    put("oauthAccessToken", identity.oauthAccessToken)
    put("oauthExpireIn", number: identity.oauthExpiresIn)
  }
}
