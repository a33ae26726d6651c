import CountersignMessages
import CountersignTelemetry
import Projects

/// Administrators' calls about single users.
struct UserCalls: Sendable {
  let backend: Backend

  var routes: [Route] {
    [
      Route(
        "createUser", .post,
        [
          "\(HostPrefix.identity)/v1/projects/{project}/accounts",
          "\(HostPrefix.identity)/v1/projects/{project}/accounts:signUp", "\(HostPrefix.identity)/v1/accounts",
          "\(HostPrefix.identity)/v1/accounts:signUp", "\(HostPrefix.relyingParty)/signupNewUser",
        ], access: .administrator, waitsFor: .hashing, Route.withoutTenants(create)),
      .administrators("lookUpUsers", .post, "/accounts:lookup", old: "getAccountInfo", lookUp),
      .administrators("updateUser", .post, "/accounts:update", old: "setAccountInfo", waitsFor: .hashing, update),
      .administrators("deleteUser", .post, "/accounts:delete", old: "deleteAccount", delete),
    ]
  }

  /// The answer has no tokens: an administrator is not the user.
  private func create(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try Self.checkUserless(call.body)
    let user = try UserFields(call.body)
    let exchange = backend.exchange(CreateAccount.self)
    var command = CreateAccount(project: try call.project().id, user: try exchange.seal(user))
    command.bearer = try exchange.seal(ifAny: call.bearer)
    let account = try await exchange.ask(command, timeout: Broker.startTimeout).account
    var answer = CallAnswer(kind: AnswerKind.signUp)
    answer.put("localId", account.localID)
    answer.put("email", account.email)
    answer.put("displayName", account.displayName)
    return answer
  }

  private func lookUp(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try Self.checkUserless(call.body)
    let accounts = try await AccountSearch(backend: backend, call: call)
      .accounts(try AccountSelection(lookUp: call.body))
    var answer = CallAnswer(kind: AnswerKind.lookup)
    answer.put("users", objects: accounts.map { $0.user() })
    return answer
  }

  private func update(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try Self.checkUserless(call.body)
    var user = try UserFields(call.body)
    guard user.localID != nil else { throw .account("MISSING_LOCAL_ID") }
    if let identity = try call.body.object("linkProviderUserInfo") {
      user.identities = try UserIdentity(identity).map { [$0] }
    }
    let exchange = backend.exchange(ChangeAccount.self)
    var command = ChangeAccount(project: try call.project().id, user: try exchange.seal(user))
    command.bearer = try exchange.seal(ifAny: call.bearer)
    let account = try await exchange.ask(command, timeout: Broker.startTimeout).account
    var answer = CallAnswer(kind: AnswerKind.update)
    answer.put("localId", account.localID)
    answer.putProfile(of: account)
    answer.putPassword(of: account)
    return answer
  }

  private func delete(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try Self.checkUserless(call.body)
    let localID = try call.body.word("localId", else: "USER_NOT_FOUND", missing: "MISSING_LOCAL_ID")
    let exchange = backend.exchange(RemoveAccounts.self)
    var command = RemoveAccounts(project: try call.project().id, localIDs: [localID])
    command.force = true
    command.bearer = try exchange.seal(ifAny: call.bearer)
    guard try await exchange.ask(command).refused.isEmpty else { throw .account("USER_NOT_FOUND") }
    return CallAnswer(kind: AnswerKind.delete)
  }

  /// Refuses an ID token beside the bearer: they may mean two accounts.
  private static func checkUserless(_ body: CallBody) throws(ProtocolError) {
    if body.has("idToken") { throw .account("UNEXPECTED_PARAMETER", "ID token") }
  }
}
