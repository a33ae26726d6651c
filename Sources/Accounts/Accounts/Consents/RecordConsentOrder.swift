import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.recordConsent`: records consents of a signed-in user, or revokes them. An administrator only revokes.
struct RecordConsentOrder: KeyedOrder {
  private enum Caller: Sendable {
    case user(CommandCaller)
    case administrator(AdministratorCheck, localID: String)

    var parts: [String] {
      switch self {
      case .user(let caller): ["user", caller.text]
      case .administrator(_, let localID): ["administrator", localID]
      }
    }
  }

  let fingerprints: Fingerprints
  private let project: String
  private let caller: Caller
  private let change: ConsentChange
  private let rules: SessionRules
  private let eventID = MessageID.make()

  init(
    _ command: RecordConsent, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    let reader = parts.reader
    project = try reader.project(command.project).id
    change = try ConsentChange(command, at: now)
    caller = try Self.caller(of: command, envelope, at: now, reader)
    rules = reader.rules.sessions
    fingerprints = reader.hashes.fingerprints("consents", [project] + caller.parts + change.parts)
    if case .administrator = caller, !change.given.isEmpty { throw .consentOfUser }
  }

  private static func caller(
    of command: RecordConsent, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) -> Caller {
    if let idToken = command.idToken {
      guard command.bearer == nil, command.localID == nil else { throw .twoCallers }
      return .user(try CommandCaller(idToken, project: command.project, of: envelope, at: now, reader))
    }
    guard command.bearer != nil || command.localID != nil else { throw .missingIDToken }
    let check = try AdministratorCheck(
      bearer: command.bearer, project: command.project, role: .writeUsers, of: envelope, replyKey: nil, reader)
    guard let localID = command.localID else { throw .missingLocalID }
    return .administrator(check, localID: localID)
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    guard case .administrator(let check, let localID) = caller else { return }
    check.addKeys(to: &keys)
    if let id = AccountRecord.id(of: localID, project: project) { keys.add(record: id) }
  }

  // MARK: Carrying out

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    switch caller {
    case .user(let caller):
      switch try caller.holder(in: set, rules) {
      case .failure(let error): return CommandAnswer(error)
      case .success(let holder): return try apply(to: holder.account, by: nil, envelope, in: &set)
      }
    case .administrator(let check, let localID):
      let administrator: Administrator
      switch try check.administrator(in: set) {
      case .failure(let error): return CommandAnswer(error)
      case .success(let found): administrator = found
      }
      guard let account = try AccountRecord.find(localID, project: project, in: set) else {
        return CommandAnswer(.userNotFound)
      }
      return try apply(to: account, by: administrator, envelope, in: &set)
    }
  }

  private func apply(
    to before: AccountRecord, by administrator: Administrator?, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    var account = before
    if let refusal = change.apply(to: &account, at: set.now) { return CommandAnswer(refusal) }
    if account != before {
      try account.store(in: &set)
      try AccountEvents(account, eventID, envelope).changes(from: before, in: &set)
      if let administrator {
        try ActRecord.note(
          "revokeConsent", by: administrator, project: project, localID: account.localID, count: nil, id: eventID,
          cause: envelope, in: &set)
      }
    }
    return try answer(account)
  }

  /// Consents are not recorded beside the account: the note leads to it.
  private func answer(_ account: AccountRecord) throws(StoreError) -> CommandAnswer {
    var answer = try CommandAnswer(ConsentsRecorded(consents: account.consents.map(\.view)))
    answer.note = Array(account.localID.utf8)
    return answer
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    let localID = String(decoding: note, as: UTF8.self)
    guard let account = try AccountRecord.find(localID, project: project, in: set) else {
      return CommandAnswer(.userNotFound)
    }
    return try answer(account)
  }
}

extension APIError {
  fileprivate static let consentOfUser = APIError(
    .invalidArgument, "consents are the user's to give: an administrator only revokes", field: "consents")
  fileprivate static let twoCallers = APIError(
    .invalidArgument, "an ID token and an administrator may mean two accounts: give one of them", field: "idToken")
}
