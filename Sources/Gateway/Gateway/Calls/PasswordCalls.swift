import CountersignMessages
import CountersignTelemetry
import Projects

/// Calls that make an account or sign in with what the app itself brings: a password, a custom token, nothing.
struct PasswordCalls: Sendable {
  let backend: Backend

  var routes: [Route] {
    [
      .v1("signUp", .post, "accounts:signUp", old: "signupNewUser", waitsFor: .hashing, signUp),
      .v1(
        "signInWithPassword", .post, "accounts:signInWithPassword", old: "verifyPassword", waitsFor: .hashing,
        signInWithPassword),
      .v1(
        "signInWithCustomToken", .post, "accounts:signInWithCustomToken", old: "verifyCustomToken",
        waitsFor: .accounts, signInWithCustomToken),
      .v1("createAuthUri", .post, "accounts:createAuthUri", old: "createAuthUri", waitsFor: .providers, createAuthURI),
    ]
  }

  // MARK: signUp

  private func signUp(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try Self.refuseAdministratorsFields(of: call.body)
    var credential = try PasswordCredential(call.body)
    let idToken = try call.body.secret("idToken", else: "INVALID_ID_TOKEN")
    // With an ID token alone there is nothing to add to its account.
    guard idToken == nil || credential != nil else { throw .account("OPERATION_NOT_ALLOWED") }
    credential?.displayName = try call.body.text("displayName")
    let exchange = backend.exchange(SignUp.self)
    var command = SignUp(project: try call.project().id, replyKey: backend.replyKey)
    command.app = call.app?.id
    command.credential = try credential.map { (credential) throws(ProtocolError) in try exchange.seal(credential) }
    command.idToken = try exchange.seal(ifAny: idToken)
    command.client = call.client.field
    let reply = try await exchange.ask(command, timeout: Broker.startTimeout)
    return try Self.answer(reply, AnswerKind.signUp, exchange)
  }

  /// Refuses what administrators alone may give a new account: its caller would believe that it was taken.
  private static func refuseAdministratorsFields(of body: CallBody) throws(ProtocolError) {
    let fields = [
      "localId": "User ID", "phoneNumber": "Phone number", "disabled": "Disabled", "mfaInfo": "Second factors",
    ]
    guard let field = fields.keys.sorted().first(where: body.has) else { return }
    throw .account("UNEXPECTED_PARAMETER", fields[field])
  }

  // MARK: signInWithPassword

  private func signInWithPassword(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let exchange = backend.exchange(SignInWithPassword.self)
    // accounts says which one is missing.
    let credential = try PasswordCredential(call.body) ?? PasswordCredential()
    var command = SignInWithPassword(
      project: try call.project().id, credential: try exchange.seal(credential), replyKey: backend.replyKey)
    command.app = call.app?.id
    command.client = call.client.field
    let reply = try await exchange.ask(command, timeout: Broker.startTimeout)
    var answer = try Self.answer(reply, AnswerKind.signInWithPassword, exchange)
    answer.put("registered", true)
    return answer
  }

  private static func answer<C: Command>(
    _ reply: AccountSignedIn, _ kind: String, _ exchange: CommandExchange<C>
  ) throws(ProtocolError) -> CallAnswer where C.Reply == AccountSignedIn {
    var answer = CallAnswer(kind: kind)
    if let identity = reply.identity {
      let identity = try exchange.open(identity, as: SignedInIdentity.self)
      answer.put("email", identity.email)
      answer.put("displayName", identity.displayName)
    }
    if let pending = try exchange.pendingSignIn(of: reply) {
      answer.put(pending)
      return answer
    }
    guard let tokens = reply.tokens, let localID = reply.localID else { throw .internalError }
    answer.put("localId", localID)
    answer.put(try exchange.open(tokens))
    return answer
  }

  // MARK: signInWithCustomToken

  private func signInWithCustomToken(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let token = try call.body.secret("token", else: "INVALID_CUSTOM_TOKEN", missing: "MISSING_CUSTOM_TOKEN")
    // accounts takes unsigned ones in development, from any client.
    guard !IDPCredential.isUnsigned(token) || LocalRequest.isLocal(call.request) else {
      throw .account("INVALID_CUSTOM_TOKEN", "Tokens without a signature are taken from clients of this machine only.")
    }
    let exchange = backend.exchange(SignInWithCustomToken.self)
    var command = SignInWithCustomToken(
      project: try call.project().id, token: try exchange.seal(token), replyKey: backend.replyKey)
    command.app = call.app?.id
    command.client = call.client.field
    let reply = try await exchange.ask(command)
    var answer = CallAnswer(kind: AnswerKind.signInWithCustomToken)
    if let pending = try exchange.pendingSignIn(of: reply) {
      answer.put(pending)
      return answer
    }
    guard let tokens = reply.tokens else { throw .internalError }
    answer.put("isNewUser", reply.isNewUser ?? false)
    answer.put(try exchange.open(tokens))
    return answer
  }

  // MARK: createAuthUri

  /// The page of a provider, or the ways to sign in of an address.
  private func createAuthURI(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let session = try call.body.word("sessionId", else: "INVALID_SESSION_ID")
    if let provider = try call.body.word("providerId", else: "INVALID_PROVIDER_ID") {
      return try await ProviderStart(backend: backend).createAuthURI(call, provider, session)
    }
    let identifier = try call.body.word("identifier", else: "INVALID_IDENTIFIER", missing: "MISSING_IDENTIFIER")
    let page = try call.body.secret("continueUri", else: "INVALID_CONTINUE_URI", missing: "MISSING_CONTINUE_URI")
    guard page.contains("://") else { throw .account("INVALID_CONTINUE_URI") }
    let exchange = backend.exchange(FindMethods.self)
    var command = FindMethods(
      project: try call.project().id, credential: try exchange.seal(PasswordCredential(email: identifier)))
    command.client = call.client.field
    let reply = try await exchange.ask(command)
    var answer = CallAnswer(kind: AnswerKind.createAuthURI)
    if let isRegistered = reply.isRegistered { answer.put("registered", isRegistered) }
    answer.put("signinMethods", texts: reply.methods ?? [])
    answer.put("allProviders", texts: Self.providers(of: reply.methods ?? []))
    answer.put("sessionId", session ?? MessageID.make())
    return answer
  }

  /// A link is a way of the provider `password`.
  private static func providers(of methods: [String]) -> [String] {
    methods.map { $0 == "emailLink" ? "password" : $0 }.reduce(into: []) { providers, provider in
      if !providers.contains(provider) { providers.append(provider) }
    }
  }
}
