import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// `account.find`: accounts by what an administrator knows of them.
struct FindOrder: CommandOrder {
  private let project: String
  private let check: AdministratorCheck
  private let selection: AccountSelection

  init(_ command: FindAccounts, _ envelope: Envelope, _ reader: CommandReader) throws(APIError) {
    project = command.project
    check = try AdministratorCheck(
      bearer: command.bearer, project: project, role: .readUsers, of: envelope, replyKey: nil, reader)
    selection = try reader.content(of: reader.open(command.selection, "selection", of: envelope, replyKey: nil))
    let count =
      (selection.localIDs?.count ?? 0) + (selection.emails?.count ?? 0) + (selection.phoneNumbers?.count ?? 0)
      + (selection.identities?.count ?? 0)
    guard count <= AccountSelection.maxAccounts else {
      throw APIError(
        .invalidArgument, "selection names more than \(AccountSelection.maxAccounts) accounts", field: "selection")
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    for id in ids { keys.add(record: id) }
    for key in try holders { keys.add(holderOf: key) }
  }

  private var ids: [RecordID] {
    (selection.localIDs ?? []).compactMap { AccountRecord.id(of: $0, project: project) }
  }

  private var holders: [UniqueKey] {
    get throws(StoreError) {
      var keys: [UniqueKey] = []
      for email in selection.emails ?? [] { keys.append(try AccountRecord.key(ofEmail: email, project: project)) }
      // Its length is bounded by the key's.
      for number in selection.phoneNumbers ?? [] where number.utf8.count <= 16 {
        keys.append(try AccountRecord.key(ofNumber: number, project: project))
      }
      for identity in selection.identities ?? [] {
        keys.append(
          try AccountRecord.key(ofIdentity: identity.subject, at: identity.providerID, project: project))
      }
      return keys
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if case .failure(let error) = try check.administrator(in: set) { return CommandAnswer(error) }
    let byID = try set.each(ids) { id throws(StoreError) in try AccountRecord.find(id, project: project, in: set) }
    let byKey = try set.each(holders) { key throws(StoreError) in try AccountRecord.find(holderOf: key, in: set) }
    var accounts: [AccountView] = []
    var known: Set<RecordID> = []
    for account in (byID + byKey).compactMap(\.self) where known.insert(account.id).inserted {
      accounts.append(account.view)
    }
    let room = ReplyRoom.fitting(try accounts.map { view throws(StoreError) in try view.size })
    var reply = AccountsFound(accounts: Array(accounts.prefix(room)))
    if room < accounts.count { reply.next = String(room) }
    return try CommandAnswer(reply)
  }
}

extension AccountView {
  /// Bytes in a reply, a little more.
  var size: Int { get throws(StoreError) { try AccountFound(account: self).written().count } }
}
