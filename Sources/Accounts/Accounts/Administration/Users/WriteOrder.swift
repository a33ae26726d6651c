import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects

/// `account.create` and `account.change`: an administrator writes the fields of an account.
struct WriteOrder: KeyedOrder {
  enum Act: String, Sendable {
    case create, change
  }

  let fingerprints: Fingerprints
  private let act: Act
  private let project: String
  private let check: AdministratorCheck
  private let fields: AccountFields
  private let localID: String
  private let password: Secret?
  private let passwords: Passwords
  private let sessions: Sessions
  private let eventID = MessageID.make()
  /// Made in the stage.
  private var hash: Result<PasswordHash, APIError>?

  init(
    _ act: Act, _ user: SecretField, bearer: SecretField?, project: String, _ envelope: Envelope,
    _ parts: AccountParts
  ) throws(APIError) {
    let reader = parts.reader
    check = try AdministratorCheck(
      bearer: bearer, project: project, role: .writeUsers, of: envelope, replyKey: nil, reader)
    let text = try reader.open(user, "user", of: envelope, replyKey: nil)
    let user: UserFields = try reader.content(of: text)
    fields = try AccountFields(user)
    guard act == .create || fields.localID != nil else { throw .missingLocalID }
    localID = fields.localID ?? RandomID.make(length: AccountRecord.randomLength)
    password = user.password.map { Secret($0) }
    if let password { try parts.passwords.check(password, reader.project(project)) }
    (self.act, self.project, passwords, sessions) = (act, project, parts.passwords, parts.sessions)
    fingerprints = reader.hashes.fingerprints("write account", [act.rawValue, project, text.reveal()])
  }

  /// Hashes for administrators alone.
  var stage: CommandStage? {
    guard let password else { return nil }
    return CommandStage(window: .hashing) { [self] access throws(StoreError) in
      var order = self
      let caller = try await access.store.read(StoreKeys(), at: access.now()) { [check] set throws(StoreError) in
        try check.administrator(in: set)
      }
      if case .failure(let error) = caller {
        order.hash = .failure(error)
        return order
      }
      do throws(APIError) { order.hash = .success(try await passwords.hash(password)) } catch {
        order.hash = .failure(error)
      }
      return order
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    if let id = AccountRecord.id(of: localID, project: project) {
      keys.add(record: id)
      keys.add(group: try SessionRecord.group(ofAccount: id))
    }
    try fields.addKeys(in: project, to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let administrator: Administrator
    switch try check.administrator(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): administrator = found
    }
    var made: PasswordHash?
    switch hash {
    case nil: break
    case .failure(let error): return CommandAnswer(error)
    case .success(let hash): made = hash
    }
    let found = try AccountRecord.find(localID, project: project, in: set)
    guard (found == nil) == (act == .create) else {
      return CommandAnswer(act == .create ? .localIDTaken : .userNotFound)
    }
    var account = if let found { found } else { try AccountRecord(localID, project: project, at: set.now) }
    let change = AccountChange(fields: fields, sessions: sessions)
    if let conflict = try change.apply(to: &account, password: made, in: &set) { return CommandAnswer(conflict) }
    try account.store(in: &set)
    let events = AccountEvents(account, eventID, envelope)
    if let found {
      try events.changes(from: found, in: &set)
    } else {
      try events.created(by: .administrator, in: &set)
    }
    try ActRecord.note(
      act.rawValue, by: administrator, project: project, localID: localID, count: nil, id: eventID, cause: envelope,
      in: &set)
    return try answer(account)
  }

  /// The profile is not recorded: the note leads to it.
  private func answer(_ account: AccountRecord) throws(StoreError) -> CommandAnswer {
    var answer = try CommandAnswer(AccountChanged(account: account.view))
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

extension SignInProvider {
  /// Maker of accounts that no user has signed up for.
  static let administrator = SignInProvider(name: "administrator")
}

extension CommandReader {
  /// - Throws: `INVALID_ARGUMENT` for an opened text that is not what the contract says.
  func content<Content: SealedText>(of text: Secret) throws(APIError) -> Content {
    do throws(ContractProblem) { return try Content(text: text) } catch { throw APIError(error) }
  }
}

extension APIError {
  static let missingLocalID = APIError(.missingLocalID, "the ID of the user is needed", field: "localID")
  static let localIDTaken = APIError(.duplicateLocalID, "another account has the ID", field: "localID")
  static let localIDRepeated = APIError(.duplicateLocalID, "an earlier row has the ID", field: "localID")
}
