import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing

/// `account.list`: the accounts of a project, page by page, or their number. With hashes it is an act.
struct ListOrder: KeyedOrder {
  private static let limits = 1...1_000
  /// Accounts that are loaded: more than mostly fit a reply.
  private static let longestPage = 200
  /// Accounts that a command counts, so that it ends before its requester gives up.
  private static let mostCounted = 50_000

  let fingerprints: Fingerprints
  private let project: String
  private let check: AdministratorCheck
  private let page: StoreKeys.GroupPage
  private let seal: ReplySeal?
  private let countsOnly: Bool
  /// Outcome of the stage.
  private var counted: AccountsFound?

  init(_ command: ListAccounts, _ envelope: Envelope, _ reader: CommandReader) throws(APIError) {
    project = command.project
    let wantsHashes = command.replyKey != nil
    countsOnly = command.countsOnly ?? false
    guard !countsOnly || !wantsHashes else {
      throw APIError(.invalidArgument, "countsOnly and replyKey exclude each other", field: "countsOnly")
    }
    check = try AdministratorCheck(
      bearer: command.bearer, project: project, role: wantsHashes ? .exportUsers : .readUsers, of: envelope,
      replyKey: command.replyKey, reader)
    page = try StoreKeys.GroupPage(
      of: AccountRecord.kind, limit: command.limit, in: Self.limits, after: command.after, maxRecords: Self.longestPage)
    seal = try command.replyKey.map { key throws(APIError) in try ReplySeal(key: key, envelope, AccountsFound.type) }
    fingerprints = reader.hashes.fingerprints(
      "list accounts", [project, command.replyKey ?? "", page.behind, String(page.limit), "\(countsOnly)"])
  }

  var stage: CommandStage? {
    guard countsOnly else { return nil }
    return CommandStage { [self] access throws(StoreError) in
      var order = self
      let caller = try await access.store.read(StoreKeys(), at: access.now()) { [check] set throws(StoreError) in
        try check.administrator(in: set)
      }
      guard case .success = caller else { return order }
      var (count, next) = (0, String?.none)
      try await access.walk(accountsOf: project, behind: page.behind) { records in
        count += records.count
        next = count < Self.mostCounted ? nil : records.last?.id.text
        return next == nil
      }
      var found = AccountsFound(accounts: [])
      (found.count, found.next) = (count, next)
      order.counted = found
      return order
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    guard !countsOnly else { return }
    keys.add(group: try AccountRecord.group(ofProject: project), page)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    switch try check.administrator(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let administrator):
      // A caller that was none when the stage began may come again.
      guard !countsOnly else {
        guard let counted else { return CommandAnswer(.invalidAccessToken) }
        return try CommandAnswer(counted)
      }
      if seal != nil {
        try ActRecord.noteHourly("export", by: administrator, project: project, cause: envelope, in: &set)
      }
      return try list(in: set)
    }
  }

  /// Neither hashes nor profiles are recorded.
  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    switch try check.administrator(in: set) {
    case .failure(let error): CommandAnswer(error)
    case .success: try list(in: set)
    }
  }

  private func list(in set: WorkingSet) throws(StoreError) -> CommandAnswer {
    let (records, isComplete) = try set.group(AccountRecord.group(ofProject: project), page)
    let accounts = try set.each(records) { record throws(StoreError) in try AccountRecord(record) }
    let hashes =
      seal == nil
      ? []
      : try set.each(accounts) { account throws(StoreError) in
        try account.hasPassword ? PasswordRecord.find(account.id, in: set) : nil
      }.enumerated().compactMap { index, record in
        record.map { PasswordHashes.Entry(localID: accounts[index].localID, stored: $0.hash.stored) }
      }
    let stored = Dictionary(hashes.map { ($0.localID, $0) }) { first, _ in first }
    let views = accounts.map(\.view)
    let room = ReplyRoom.fitting(
      try views.map { view throws(StoreError) in try view.size + Self.size(of: stored[view.localID]) })
    var reply = AccountsFound(accounts: Array(views.prefix(room)))
    if room < views.count || !isComplete { reply.next = accounts.prefix(room).last?.id.text }
    if let seal {
      reply.hashes = try seal.once(PasswordHashes(entries: views.prefix(room).compactMap { stored[$0.localID] }))
    }
    var answer = try CommandAnswer(reply)
    answer.note = [0]
    return answer
  }

  /// Bytes of a hash in the sealed text: base64 of JSON.
  private static func size(of entry: PasswordHashes.Entry?) -> Int {
    entry.map { (2 * $0.localID.utf8.count + 2 * $0.stored.utf8.count + 40) * 4 / 3 } ?? 0
  }
}

extension ReplySeal {
  fileprivate func once(_ hashes: PasswordHashes) throws(StoreError) -> SecretField {
    let text: Secret
    do throws(ContractProblem) { text = try hashes.text() } catch {
      throw StoreError(.content, "hashes of passwords cannot be written: \(error)")
    }
    return try once(text)
  }
}
