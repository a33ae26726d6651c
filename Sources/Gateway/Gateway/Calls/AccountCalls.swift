import CountersignMessages
import CountersignTelemetry
import Projects

struct AccountCalls: Sendable {
  let backend: Backend

  var routes: [Route] {
    [
      .v1("lookup", .post, "accounts:lookup", old: "getAccountInfo", waitsFor: .accounts, keepsUsers: true, lookUp),
      .v1("update", .post, "accounts:update", old: "setAccountInfo", waitsFor: .hashing, update),
      .v1("delete", .post, "accounts:delete", old: "deleteAccount", waitsFor: .accounts, delete),
    ]
  }

  private func lookUp(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let exchange = backend.exchange(LookUpAccount.self)
    let token = try call.body.requiredIDToken()
    let reply = try await exchange.ask(
      LookUpAccount(project: try call.project().id, idToken: try exchange.seal(token)))
    var answer = CallAnswer(kind: AnswerKind.lookup)
    answer.put("users", objects: [reply.account.user()])
    return answer
  }

  private func update(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    if try call.body.text("oobCode") != nil { return try await MailLinkCalls(backend: backend).apply(call) }
    let token = try call.body.requiredIDToken()
    let credential = try PasswordCredential(call.body)
    let replyKey = credential.map { _ in backend.replyKey }
    let exchange = backend.exchange(UpdateAccount.self, replyKey: replyKey)
    var command = UpdateAccount(project: try call.project().id, idToken: try exchange.seal(token))
    if let credential { command.credential = try exchange.seal(credential) }
    command.replyKey = replyKey
    command.client = call.client.field
    command.displayName = try call.body.anyText("displayName")
    command.photoURL = try call.body.anyText("photoUrl")
    command.deleteAttributes = try call.body.deletedAttributes()
    command.deleteProviders = try call.body.deletedProviders()
    let reply = try await exchange.ask(command, timeout: Broker.startTimeout)
    var answer = CallAnswer(kind: AnswerKind.update)
    answer.put("localId", reply.account.localID)
    answer.putProfile(of: reply.account)
    answer.putPassword(of: reply.account)
    if let tokens = reply.tokens { answer.put(try exchange.open(tokens)) }
    return answer
  }

  private func delete(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let exchange = backend.exchange(DeleteAccount.self)
    let token = try call.body.requiredIDToken()
    _ = try await exchange.ask(DeleteAccount(project: try call.project().id, idToken: try exchange.seal(token)))
    return CallAnswer(kind: AnswerKind.delete)
  }
}

extension PasswordCredential {
  /// Address and password of a call. `nil` without either, or if both are empty.
  init?(_ body: CallBody) throws(ProtocolError) {
    let email = try body.word("email", else: "INVALID_EMAIL")
    let password = try body.secret("password", else: "INVALID_PASSWORD")
    guard email != nil || password != nil else { return nil }
    self.init(email: email, password: password)
  }
}

extension CallBody {
  func deletedAttributes() throws(ProtocolError) -> [String]? {
    let named = try enumerations("deleteAttribute", ProtocolEnumeration.userAttribute)
    let known = ["DISPLAY_NAME", "PHOTO_URL", "EMAIL", "PASSWORD"].filter(named.contains)
    return known.isEmpty ? nil : known
  }

  func deletedProviders() throws(ProtocolError) -> [String]? {
    // Longer ones, and more of them, are none of the account's: those of identities are at most 16.
    let named = try texts("deleteProvider").filter { (1...Self.maxWordBytes).contains($0.utf8.count) }
    return named.isEmpty ? nil : named
  }
}
