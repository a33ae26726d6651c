import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// `account.remove`: an administrator deletes accounts, those that are disabled unless forced.
struct RemoveOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: String
  private let check: AdministratorCheck
  private let localIDs: [String]
  private let isForced: Bool
  private let deletion: Deletion
  private let eventID = MessageID.make()

  init(_ command: RemoveAccounts, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    project = command.project
    check = try AdministratorCheck(
      bearer: command.bearer, project: project, role: .writeUsers, of: envelope, replyKey: nil, parts.reader)
    guard command.localIDs.count <= RemoveAccounts.maxAccounts else {
      throw APIError(
        .invalidArgument, "localIDs must be at most \(RemoveAccounts.maxAccounts) IDs", field: "localIDs")
    }
    localIDs = command.localIDs
    isForced = command.force ?? false
    deletion = parts.deletion
    fingerprints = parts.hashes.fingerprints(
      "remove accounts", [project, isForced ? "force" : ""] + localIDs)
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    for localID in localIDs {
      guard let id = AccountRecord.id(of: localID, project: project) else { continue }
      keys.add(record: id)
      // All at once: a load for each account would be too many.
      keys.add(record: try PasswordRecord.id(of: id))
      keys.add(group: try SessionRecord.group(ofAccount: id))
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let administrator: Administrator
    switch try check.administrator(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): administrator = found
    }
    var refused: [RefusedUser] = []
    for (index, localID) in localIDs.enumerated() {
      guard let account = try AccountRecord.find(localID, project: project, in: set) else {
        refused.append(RefusedUser(index: index, message: "USER_NOT_FOUND : There is no such account."))
        continue
      }
      guard isForced || account.isDisabled else {
        refused.append(
          RefusedUser(index: index, message: "NOT_DISABLED : Disable the account before batch deletion."))
        continue
      }
      try deletion.delete(account, cause: envelope, in: &set)
      try ActRecord.note(
        "remove", by: administrator, project: project, localID: localID, count: nil, id: "\(eventID).\(index)",
        cause: envelope, in: &set)
    }
    return try CommandAnswer(AccountsRemoved(refused: refused))
  }
}
