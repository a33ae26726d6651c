import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Way to sign in, as `sign_in_provider` of ID tokens names it. A text: identity providers have names of their own.
struct SignInProvider: Sendable, Hashable {
  let name: String

  static let phone = SignInProvider(name: "phone")
  static let anonymous = SignInProvider(name: "anonymous")
  /// A password, or a link that was mailed.
  static let password = SignInProvider(name: "password")
  static let custom = SignInProvider(name: "custom")
}

/// A session as it is stored: a sign-in on a device, until it ends.
///
/// Its ID begins with that of its account's record, so that a refresh token leads to both at once.
struct SessionRecord: Sendable, Hashable {
  static let kind = RecordKind("session")
  static let ofAccount = KeySpace(kind, "account")
  static let randomLength = 22
  static let seedLength = 32

  let id: RecordID
  let project: String
  let account: RecordID
  let firstFactor: SignInProvider
  /// Way that its tokens name: the first factor, or what was linked since.
  var provider: SignInProvider
  let authTime: UnixTime
  /// Last refresh that was noted, or the sign-in.
  var lastUsedAt: UnixTime
  /// Time until which it may delete its account although its sign-in is not recent: it had a code of the account's own
  /// Apple identity revoked.
  var deletionUntil: UnixTime?
  /// Kind of the second factor that was given. `nil` without one.
  var secondFactor: SecondFactorKind?
  /// Its enrollment.
  var enrollmentID: String?
  /// Claims of the custom token that began it, as a JSON object.
  var claims: String?
  /// Part of what its refresh token is made of.
  let seed: [UInt8]

  init?(of account: AccountRecord, by firstFactor: SignInProvider, _ random: RandomValues, at now: UnixTime) {
    guard let id = RecordID(Self.kind, account.id.text + random.sessionID) else { return nil }
    self.id = id
    project = account.project
    self.account = account.id
    self.firstFactor = firstFactor
    provider = firstFactor
    authTime = now
    lastUsedAt = now
    seed = random.sessionSeed
  }

  /// Record of the account that a session is of. `nil` for a text that is not the ID of a session.
  static func account(ofSession sessionID: String) -> RecordID? {
    let hash = sessionID.utf8.dropLast(randomLength)
    guard hash.count == AccountRecord.idLength,
      RandomID.isID(String(decoding: sessionID.utf8.suffix(randomLength), as: UTF8.self), length: randomLength)
    else { return nil }
    return RecordID(AccountRecord.kind, String(decoding: hash, as: UTF8.self))
  }

  func end(_ rules: SessionRules) -> UnixTime { lastUsedAt + rules.unusedFor }

  func isOver(at now: UnixTime, of account: AccountRecord, _ rules: SessionRules) -> Bool {
    self.account != account.id || authTime < account.validSince || end(rules) <= now
  }

  /// A time too far ahead does not count: the clock was set back.
  func mayDelete(at now: UnixTime) -> Bool {
    deletionUntil.map { now < $0 && $0 <= now + AppleRevocation.allowance } ?? false
  }

  // MARK: Storing

  /// Stores it until it has been unused for long enough. The maintenance deletes it then.
  func store(_ rules: SessionRules, isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    try set.store(
      id, self, isNew: isNew, dueAt: nil, discardAt: end(rules), groupKeys: [try Self.group(ofAccount: account)])
  }

  // MARK: Look-ups

  static func group(ofAccount id: RecordID) throws(StoreError) -> GroupKey {
    try GroupKey(ofAccount, Array(id.text.utf8))
  }

  /// The session, and its account.
  static func addKeys(of sessionID: String, to keys: inout StoreKeys) {
    if let id = RecordID(kind, sessionID) { keys.add(record: id) }
    if let id = account(ofSession: sessionID) { keys.add(record: id) }
  }

  static func find(_ sessionID: String, in set: WorkingSet) throws(StoreError) -> SessionRecord? {
    guard let id = RecordID(kind, sessionID), let record = try set.record(id) else { return nil }
    return try SessionRecord(record)
  }

  /// A session that goes on, with its account.
  static func holder(
    of sessionID: String, project: String, _ rules: SessionRules, in set: WorkingSet
  ) throws(StoreError) -> Result<IDTokenCheck.Holder, APIError> {
    var keys = StoreKeys()
    addKeys(of: sessionID, to: &keys)
    try set.require(keys)
    guard let id = account(ofSession: sessionID),
      let account = try AccountRecord.find(id, project: project, in: set)
    else { return .failure(.userNotFound) }
    guard !account.isDisabled else { return .failure(.userDisabled) }
    guard let session = try find(sessionID, in: set), !session.isOver(at: set.now, of: account, rules) else {
      return .failure(.sessionEnded)
    }
    return .success(IDTokenCheck.Holder(account: account, session: session))
  }
}

extension SessionRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ session: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, session?.project)
    account = try FieldCoder.present(Self.account(ofSession: record.id.text))
    firstFactor = SignInProvider(name: try fields.required(2, session?.firstFactor.name))
    provider = SignInProvider(name: try fields.required(3, session?.provider.name))
    authTime = try fields.required(4, session?.authTime)
    lastUsedAt = try fields.required(5, session?.lastUsedAt)
    seed = try fields.required(6, session?.seed)
    deletionUntil = fields.optional(20, session?.deletionUntil)
    claims = fields.optional(21, session?.claims)
    secondFactor = try fields.optional(22, session?.secondFactor)
    enrollmentID = fields.optional(23, session?.enrollmentID)
  }
}
