import CountersignMessages
import CountersignTelemetry
import Projects

/// Search for accounts of an administrator, in as many commands as it takes.
struct AccountSearch: Sendable {
  let backend: Backend
  let call: Call

  /// Each account once, in the order in which it was found. A selection that names none is asked for as well: accounts
  /// judges the caller.
  func accounts(_ selection: AccountSelection) async throws(ProtocolError) -> [AccountView] {
    var found: [AccountView] = []
    var known: Set<String> = []
    var waiting = selection.count == 0 ? [selection] : selection.parts(of: AccountSelection.maxAccounts)
    while let part = waiting.popLast() {
      let reply = try await find(part)
      if reply.next != nil {
        // Not all of them fit a reply.
        guard part.count > 1 else { throw .internalError }
        waiting += part.parts(of: (part.count + 1) / 2)
        continue
      }
      found += reply.accounts.filter { known.insert($0.localID).inserted }
    }
    return found
  }

  private func find(_ selection: AccountSelection) async throws(ProtocolError) -> AccountsFound {
    let exchange = backend.exchange(FindAccounts.self)
    var command = FindAccounts(project: try call.project().id, selection: try exchange.seal(selection))
    command.bearer = try exchange.seal(ifAny: call.bearer)
    return try await exchange.ask(command)
  }
}

extension AccountSelection {
  /// Accounts that a look-up names. No account has a text that is longer than the words of clients.
  init(lookUp body: CallBody) throws(ProtocolError) {
    self.init()
    localIDs = try Self.words("localId", of: body)
    emails = try Self.words("email", of: body)
    phoneNumbers = try Self.words("phoneNumber", of: body)
    identities = try UserIdentity.list("federatedUserId", of: body)
  }

  init(query expressions: [CallBody]) throws(ProtocolError) {
    self.init()
    for expression in expressions {
      if let id = try expression.word("userId", else: "INVALID_LOCAL_ID") { localIDs = (localIDs ?? []) + [id] }
      if let email = try expression.word("email", else: "INVALID_EMAIL") { emails = (emails ?? []) + [email] }
      if let number = try expression.word("phoneNumber", else: "INVALID_PHONE_NUMBER") {
        phoneNumbers = (phoneNumbers ?? []) + [number]
      }
    }
  }

  private static func words(_ name: String, of body: CallBody) throws(ProtocolError) -> [String] {
    try body.texts(name).filter { (1...CallBody.maxWordBytes).contains($0.utf8.count) }
  }

  var count: Int {
    (localIDs?.count ?? 0) + (emails?.count ?? 0) + (phoneNumbers?.count ?? 0) + (identities?.count ?? 0)
  }

  /// The selection in parts of at most so many accounts, the first one last.
  func parts(of size: Int) -> [AccountSelection] {
    var parts: [AccountSelection] = []
    func add<Item>(_ items: [Item]?, _ field: WritableKeyPath<AccountSelection, [Item]?>) {
      for item in items ?? [] {
        if parts.last.map({ $0.count >= size }) ?? true { parts.append(AccountSelection()) }
        parts[parts.count - 1][keyPath: field, default: []].append(item)
      }
    }
    add(localIDs, \.localIDs)
    add(emails, \.emails)
    add(phoneNumbers, \.phoneNumbers)
    add(identities, \.identities)
    return parts.reversed()
  }
}

extension AccountSelection {
  fileprivate subscript<Item>(
    keyPath path: WritableKeyPath<AccountSelection, [Item]?>, default none: [Item]
  ) -> [Item] {
    get { self[keyPath: path] ?? none }
    set { self[keyPath: path] = newValue }
  }
}
