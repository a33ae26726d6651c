import CountersignMessages
import CountersignTelemetry
import Projects

/// Pages of a project's accounts, each put together from as many replies as it takes.
struct AccountPages: Sendable {
  struct Page: Sendable {
    var users: [CallAnswer] = []
    /// Place to go on from. `nil` after the last account.
    var next: String?
  }

  let backend: Backend
  let call: Call

  /// - Parameters:
  ///   - withHashes: whether the hashes of passwords are asked for. A caller without the role for them gets the
  ///     accounts without.
  func page(_ size: Int, after: String?, withHashes: Bool) async throws(ProtocolError) -> Page {
    var page = Page(next: after)
    var withHashes = withHashes
    while true {
      let count = size - page.users.count
      switch try await accounts(count, after: page.next, withHashes: withHashes) {
      case .success(let part):
        guard part.users.count <= count, !part.users.isEmpty || part.next == nil else { throw .internalError }
        page.users += part.users
        page.next = part.next
        if page.users.count == size || page.next == nil { return page }
      case .failure(let error):
        guard withHashes, error.status == 403 else { throw error }
        withHashes = false
      }
    }
  }

  /// Number of the project's accounts, in as many commands as it takes.
  func count() async throws(ProtocolError) -> Int {
    var (count, next) = (0, String?.none)
    repeat {
      let exchange = backend.exchange(ListAccounts.self)
      var command = ListAccounts(project: try call.project().id, limit: 1)
      (command.countsOnly, command.after) = (true, next)
      command.bearer = try exchange.seal(ifAny: call.bearer)
      let reply = try await exchange.ask(command)
      guard let part = reply.count, part > 0 || reply.next == nil else { throw .internalError }
      (count, next) = (count + part, reply.next)
    } while next != nil
    return count
  }

  private func accounts(
    _ count: Int, after: String?, withHashes: Bool
  ) async throws(ProtocolError) -> Result<Page, ProtocolError> {
    let replyKey = withHashes ? backend.replyKey : nil
    let exchange = backend.exchange(ListAccounts.self, replyKey: replyKey)
    var command = ListAccounts(project: try call.project().id, limit: count)
    command.after = after
    command.replyKey = replyKey
    command.bearer = try exchange.seal(ifAny: call.bearer)
    switch try await exchange.attempt(command, timeout: Broker.usualTimeout) {
    case .failure(let error): return .failure(exchange.refusal(error))
    case .success(let reply):
      let hashes = try reply.hashes.map { (field) throws(ProtocolError) in
        try exchange.open(field, as: PasswordHashes.self).entries
      }
      let stored = Dictionary((hashes ?? []).map { ($0.localID, $0.stored) }) { first, _ in first }
      return .success(Page(users: reply.accounts.map { $0.user(hash: stored[$0.localID]) }, next: reply.next))
    }
  }
}
