import CountersignMessages
import CountersignTelemetry
import Projects

/// Administrators' calls about many users, each of which becomes several commands.
///
/// A call that fails midway has done a part, and a new attempt does the rest: deleting and importing twice changes
/// nothing more.
struct BatchCalls: Sendable {
  let backend: Backend

  /// Maximum number of users of a call.
  static let maxUsers = 1_000
  /// Bytes of the ID of an account.
  private static let idBytes = 1...128
  /// IDs of a command: escaped in JSON, they fit a message in any case.
  private static let idsAtOnce = 80
  /// Number of users of a page, unless the call says.
  private static let usualPage = 20
  /// Number of users of a query, unless the call says.
  private static let usualQuery = 500

  var routes: [Route] {
    var create = Route.administrators(
      "importUsers", .post, "/accounts:batchCreate", old: "uploadAccount", batchCreate)
    create.bodyLimits = .batch
    var delete = Route.administrators("deleteUsers", .post, "/accounts:batchDelete", old: nil, batchDelete)
    delete.bodyLimits = .list
    return [
      create,
      delete,
      .administrators("listUsers", .get, "/accounts:batchGet", old: nil) {
        (call) async throws(ProtocolError) in try await list(call, call.query)
      },
      // In v3 the page is asked for by a body.
      Route(
        "listUsers", .post, ["\(HostPrefix.relyingParty)/downloadAccount"], access: .administrator,
        waitsFor: .administrators
      ) { (call: Call) async throws(ProtocolError) -> CallAnswer in try await list(call, call.body) },
      .administrators("queryUsers", .post, "/accounts:query", old: nil, query),
    ]
  }

  // MARK: batchCreate

  private func batchCreate(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let rows = try call.body.objects("users")
    guard !rows.isEmpty else { throw .account("MISSING_USER_ACCOUNT") }
    guard rows.count <= Self.maxUsers else { throw .account("MAXIMUM_USER_COUNT_EXCEEDED") }
    var batch = ImportBatch(
      hash: try HashParameters(call.body), allowsOverwrite: try call.body.bool("allowOverwrite"))
    for (index, row) in rows.enumerated() { batch.add(row, at: index) }
    var refused = batch.refused
    for part in batch.commands {
      let exchange = backend.exchange(ImportAccounts.self)
      var command = ImportAccounts(project: try call.project().id, batch: try exchange.seal(part.batch))
      command.bearer = try exchange.seal(ifAny: call.bearer)
      for row in try await exchange.ask(command, timeout: Broker.startTimeout).refused
      where part.indices.indices.contains(row.index) {
        refused.append(RefusedUser(index: part.indices[row.index], message: row.message))
      }
    }
    var answer = CallAnswer(kind: AnswerKind.upload)
    answer.put("error", objects: refused.sorted { $0.index < $1.index }.map { Self.entry($0) })
    return answer
  }

  private static func entry(_ refused: RefusedUser, localID: String? = nil) -> CallAnswer {
    var entry = CallAnswer()
    entry.put("index", number: refused.index)
    entry.put("localId", localID)
    entry.put("message", refused.message)
    return entry
  }

  // MARK: batchGet

  private func list(_ call: Call, _ fields: CallBody) async throws(ProtocolError) -> CallAnswer {
    try fields.checkTenant()
    let size = try fields.integer("maxResults") ?? Self.usualPage
    guard (1...Self.maxUsers).contains(size) else {
      throw .badField("maxResults", expected: "1 to \(Self.maxUsers)")
    }
    let after = try fields.secret("nextPageToken", else: "INVALID_PAGE_SELECTION")
    let page = try await AccountPages(backend: backend, call: call).page(size, after: after, withHashes: true)
    var answer = CallAnswer(kind: AnswerKind.download)
    answer.put("users", objects: page.users)
    answer.put("nextPageToken", page.next)
    return answer
  }

  // MARK: batchDelete

  private func batchDelete(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let ids = try call.body.texts("localIds")
    guard ids.count <= Self.maxUsers else { throw .account("LOCAL_ID_LIST_EXCEEDS_LIMIT") }
    let force = try call.body.bool("force")
    // No account has another: nothing is left to delete.
    var waiting = ids.indices.filter { Self.idBytes.contains(ids[$0].utf8.count) }[...]
    var errors: [CallAnswer] = []
    // Without any, accounts still judges the caller.
    repeat {
      let indices = Array(waiting.prefix(Self.idsAtOnce))
      waiting = waiting.dropFirst(indices.count)
      let exchange = backend.exchange(RemoveAccounts.self)
      var command = RemoveAccounts(project: try call.project().id, localIDs: indices.map { ids[$0] })
      command.force = force
      command.bearer = try exchange.seal(ifAny: call.bearer)
      for row in try await exchange.ask(command).refused
      where indices.indices.contains(row.index) && !row.message.hasPrefix("USER_NOT_FOUND") {
        let index = indices[row.index]
        errors.append(Self.entry(RefusedUser(index: index, message: row.message), localID: ids[index]))
      }
    } while !waiting.isEmpty
    var answer = CallAnswer()
    answer.put("errors", objects: errors)
    return answer
  }

  // MARK: query

  /// Users by ID, address or number, or the first ones of the list, or the number of all.
  private func query(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let expressions = try call.body.objects("expression")
    let returnsUsers = try call.body.bool("returnUserInfo") ?? true
    var answer = CallAnswer()
    let users: [CallAnswer]
    if expressions.isEmpty {
      guard returnsUsers else {
        answer.put("recordsCount", asText: try await AccountPages(backend: backend, call: call).count())
        return answer
      }
      users = try await firstUsers(call)
    } else {
      users = try await AccountSearch(backend: backend, call: call)
        .accounts(try AccountSelection(query: expressions)).map { $0.user() }
    }
    answer.put("recordsCount", asText: users.count)
    if returnsUsers { answer.put("userInfo", objects: users) }
    return answer
  }

  private func firstUsers(_ call: Call) async throws(ProtocolError) -> [CallAnswer] {
    let limit = try call.body.integer("limit") ?? Self.usualQuery
    let offset = try call.body.integer("offset") ?? 0
    guard (1...Self.usualQuery).contains(limit) else {
      throw .badField("limit", expected: "1 to \(Self.usualQuery)")
    }
    guard (0...Self.maxUsers - limit).contains(offset) else {
      throw .badField("offset", expected: "at most \(Self.maxUsers) together with limit; accounts:batchGet lists all")
    }
    let page = try await AccountPages(backend: backend, call: call).page(limit + offset, after: nil, withHashes: false)
    return Array(page.users.dropFirst(offset))
  }
}
