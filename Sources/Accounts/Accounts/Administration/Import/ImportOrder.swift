import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing

/// `account.import`: makes or replaces the accounts of a batch, in one transaction. A row that is wrong is refused
/// alone, and a batch that comes again changes nothing.
struct ImportOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: String
  private let check: AdministratorCheck
  private let rows: [Result<ImportedUser, APIError>]
  private let keepsExisting: Bool
  private let eventID = MessageID.make()

  init(_ command: ImportAccounts, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    let (reader, project) = (parts.reader, command.project)
    check = try AdministratorCheck(
      bearer: command.bearer, project: project, role: .writeUsers, of: envelope, replyKey: nil, reader)
    let text = try reader.open(command.batch, "batch", of: envelope, replyKey: nil)
    let batch: UserBatch = try reader.content(of: text)
    guard batch.users.count <= UserBatch.maxUsers else {
      throw APIError(.invalidArgument, "a batch has at most \(UserBatch.maxUsers) users", field: "batch")
    }
    rows = batch.users.map { user in
      Result { () throws(APIError) in
        try ImportedUser(user, project: project, hash: parts.passwords.imported(user, batch.hash))
      }
    }
    keepsExisting = batch.keepsExisting ?? false
    self.project = project
    fingerprints = reader.hashes.fingerprints("import accounts", [project, text.reveal()])
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    try ImportedHashes.addKeys(of: project, to: &keys)
    for case .success(let user) in rows { try user.addKeys(to: &keys) }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let administrator: Administrator
    switch try check.administrator(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): administrator = found
    }
    var refused: [RefusedUser] = []
    var hashes: [PasswordHash] = []
    var known: Set<RecordID> = []
    // All rows are looked at before the first that lacks something ends the run: one load brings what all of them lack.
    var lacking: StoreError?
    for (index, row) in rows.enumerated() {
      do throws(StoreError) {
        if let refusal = try take(row, &known, in: &set) {
          refused.append(RefusedUser(index: index, message: "\(refusal.code.rawValue) : \(refusal.message)"))
        } else if case .success(let user) = row, let hash = user.hash {
          hashes.append(hash)
        }
      } catch {
        lacking = lacking ?? error
      }
    }
    if let lacking { throw lacking }
    try ImportedHashes.note(hashes, of: project, in: &set)
    if refused.count < rows.count {
      try ActRecord.note(
        "import", by: administrator, project: project, localID: nil, count: rows.count - refused.count, id: eventID,
        cause: envelope, in: &set)
    }
    return try CommandAnswer(AccountsImported(refused: refused))
  }

  private func take(
    _ row: Result<ImportedUser, APIError>, _ known: inout Set<RecordID>, in set: inout WorkingSet
  ) throws(StoreError) -> APIError? {
    switch row {
    case .failure(let error): return error
    case .success(let user):
      guard known.insert(user.id).inserted else { return .localIDRepeated }
      return try user.store(keepsExisting: keepsExisting, in: &set)
    }
  }
}
