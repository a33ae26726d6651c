import CountersignMessages
import CountersignTelemetry
import Projects

struct AccountCalls: Sendable {
  let backend: Backend

  var routes: [Route] {
    [
      .v1("signUp", .post, "accounts:signUp", old: "signupNewUser", waitsFor: .accounts, signUp),
      .v1("lookup", .post, "accounts:lookup", old: "getAccountInfo", waitsFor: .accounts, keepsUsers: true, lookUp),
      .v1("update", .post, "accounts:update", old: "setAccountInfo", waitsFor: .accounts, update),
      .v1("delete", .post, "accounts:delete", old: "deleteAccount", waitsFor: .accounts, delete),
    ]
  }

  /// Accounts with passwords are not offered, which the protocol calls not allowed.
  private func signUp(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try call.body.checkTenant()
    try Self.refuseAdministratorsFields(of: call)
    try Self.refusePasswords(call.body)
    // With an ID token alone there is nothing to add to its account.
    if call.body.has("idToken") { throw .account("OPERATION_NOT_ALLOWED") }
    let exchange = backend.exchange(SignUp.self)
    var command = SignUp(project: try call.project().id, replyKey: backend.replyKey)
    command.client = call.client.field
    let reply = try await exchange.ask(command)
    guard let tokens = reply.tokens, let localID = reply.localID else { throw .internalError }
    var answer = CallAnswer()
    answer.put("kind", AnswerKind.signUp)
    answer.put("localId", localID)
    answer.put(try exchange.open(tokens))
    return answer
  }

  private func lookUp(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try call.body.checkTenant()
    let exchange = backend.exchange(LookUpAccount.self)
    let token = try call.body.requiredIDToken()
    let reply = try await exchange.ask(
      LookUpAccount(project: try call.project().id, idToken: try exchange.seal(token)))
    var answer = CallAnswer()
    answer.put("kind", AnswerKind.lookup)
    answer.put("users", objects: [reply.account.user])
    return answer
  }

  private func update(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try call.body.checkTenant()
    if try call.body.text("oobCode") != nil { throw .notOffered }
    try Self.refusePasswords(call.body)
    let exchange = backend.exchange(UpdateAccount.self)
    let token = try call.body.requiredIDToken()
    var command = UpdateAccount(project: try call.project().id, idToken: try exchange.seal(token))
    command.displayName = try call.body.anyText("displayName")
    command.photoURL = try call.body.anyText("photoUrl")
    command.deleteAttributes = try Self.attributes(call.body)
    command.deleteProviders = try Self.providers(call.body)
    let reply = try await exchange.ask(command)
    var answer = CallAnswer()
    answer.put("kind", AnswerKind.update)
    answer.put("localId", reply.account.localID)
    answer.putProfile(of: reply.account)
    return answer
  }

  private func delete(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try call.body.checkTenant()
    let exchange = backend.exchange(DeleteAccount.self)
    let token = try call.body.requiredIDToken()
    _ = try await exchange.ask(DeleteAccount(project: try call.project().id, idToken: try exchange.seal(token)))
    var answer = CallAnswer()
    answer.put("kind", AnswerKind.delete)
    return answer
  }

  /// Refuses what administrators alone may give a new account: its caller would believe that it was taken.
  private static func refuseAdministratorsFields(of call: Call) throws(ProtocolError) {
    let fields = [
      "localId": "User ID", "phoneNumber": "Phone number", "disabled": "Disabled", "mfaInfo": "Second factors",
    ]
    guard let field = fields.keys.sorted().first(where: call.body.has) else { return }
    throw call.request.hasAuthorization
      ? .administrationNotOffered : .account("UNEXPECTED_PARAMETER", fields[field])
  }

  private static func refusePasswords(_ body: CallBody) throws(ProtocolError) {
    if body.has("email") || body.has("password") {
      throw .account("OPERATION_NOT_ALLOWED", "Sign-in with e-mail address and password is not offered.")
    }
  }

  private static func attributes(_ body: CallBody) throws(ProtocolError) -> [String]? {
    let named = try body.enumerations("deleteAttribute", ProtocolEnumeration.userAttribute)
    let known = ["DISPLAY_NAME", "PHOTO_URL"].filter(named.contains)
    return known.isEmpty ? nil : known
  }

  private static func providers(_ body: CallBody) throws(ProtocolError) -> [String]? {
    // Longer ones, and more of them, are none of the account's: those of identities are at most 16.
    let named = try body.texts("deleteProvider").filter { (1...CallBody.maxWordBytes).contains($0.utf8.count) }
    return named.isEmpty ? nil : named
  }
}

extension AccountView {
  fileprivate var user: CallAnswer {
    var user = CallAnswer()
    user.put("localId", localID)
    user.putProfile(of: self)
    user.put("phoneNumber", phoneNumber)
    user.put("disabled", ifSo: disabled)
    user.put("createdAt", asText: createdAt.milliseconds)
    user.put("lastLoginAt", asText: lastLoginAt.milliseconds)
    user.put("lastRefreshAt", lastRefreshAt?.rfc3339)
    user.put("validSince", asText: validSince.seconds)
    return user
  }

  fileprivate var providers: [CallAnswer] {
    var providers = (identities ?? []).map(\.provider)
    if let phoneNumber {
      var phone = CallAnswer()
      phone.put("providerId", "phone")
      phone.put("rawId", phoneNumber)
      phone.put("phoneNumber", phoneNumber)
      providers.append(phone)
    }
    return providers
  }
}

extension IdentityView {
  fileprivate var provider: CallAnswer {
    var provider = CallAnswer()
    provider.put("providerId", providerID)
    provider.put("rawId", subject)
    provider.put("federatedId", subject)
    provider.put("email", email)
    provider.put("displayName", displayName)
    provider.put("photoUrl", photoURL)
    return provider
  }
}

extension CallAnswer {
  fileprivate mutating func putProfile(of account: AccountView) {
    put("email", account.email)
    put("emailVerified", ifSo: account.emailVerified)
    put("displayName", account.displayName)
    put("photoUrl", account.photoURL)
    put("providerUserInfo", objects: account.providers)
  }
}
