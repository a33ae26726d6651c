import CommandEngine
import CountersignEncoding
import CountersignTelemetry

/// Way to sign in, as `sign_in_provider` of ID tokens names it. A text: identity providers have names of their own.
struct SignInProvider: Sendable, Hashable {
  let name: String

  static let phone = SignInProvider(name: "phone")
  static let anonymous = SignInProvider(name: "anonymous")
}

/// A session as it is stored: a sign-in on a device, until it ends.
///
/// Its ID begins with that of its account, so that a refresh token leads to both at once.
struct SessionRecord: Sendable, Hashable {
  static let kind = RecordKind("session")
  static let ofAccount = KeySpace(kind, "account")
  static let randomLength = 22
  private static let separator: Character = "-"
  static let seedLength = 32

  let id: RecordID
  let project: String
  let localID: String
  let firstFactor: SignInProvider
  /// Way that its tokens name: the first factor, or what was linked since.
  var provider: SignInProvider
  let authTime: UnixTime
  /// Last refresh that was noted, or the sign-in.
  var lastUsedAt: UnixTime
  /// Part of what its refresh token is made of.
  let seed: [UInt8]

  init?(of account: AccountRecord, by firstFactor: SignInProvider, _ random: RandomValues, at now: UnixTime) {
    let text = account.localID + String(Self.separator) + random.sessionID
    guard let id = RecordID(Self.kind, text) else { return nil }
    self.id = id
    project = account.project
    localID = account.localID
    self.firstFactor = firstFactor
    provider = firstFactor
    authTime = now
    lastUsedAt = now
    seed = random.sessionSeed
  }

  static func localID(ofSession sessionID: some StringProtocol) -> String? {
    let parts = sessionID.split(separator: separator, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 2, RandomID.isID(parts[0], length: AccountRecord.idLength),
      RandomID.isID(parts[1], length: randomLength)
    else { return nil }
    return String(parts[0])
  }

  func end(_ rules: SessionRules) -> UnixTime { lastUsedAt + rules.unusedFor }

  func isOver(at now: UnixTime, of account: AccountRecord, _ rules: SessionRules) -> Bool {
    localID != account.localID || authTime < account.validSince || end(rules) <= now
  }

  // MARK: Storing

  /// Stores it until it has been unused for long enough. The maintenance deletes it then.
  func store(_ rules: SessionRules, isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    try set.store(
      id, self, isNew: isNew, dueAt: nil, discardAt: end(rules), groupKeys: [try Self.group(ofAccount: localID)])
  }

  // MARK: Look-ups

  static func group(ofAccount localID: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofAccount, Array(localID.utf8))
  }

  static func addKeys(of sessionID: String, to keys: inout StoreKeys) {
    if let id = RecordID(kind, sessionID) { keys.add(record: id) }
  }

  static func find(_ sessionID: String, in set: WorkingSet) throws(StoreError) -> SessionRecord? {
    guard let id = RecordID(kind, sessionID), let record = try set.record(id) else { return nil }
    return try SessionRecord(record)
  }
}

extension SessionRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ session: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, session?.project)
    localID = try fields.required(2, session?.localID)
    firstFactor = SignInProvider(name: try fields.required(7, session?.firstFactor.name))
    provider = SignInProvider(name: try fields.required(3, session?.provider.name))
    authTime = try fields.required(4, session?.authTime)
    lastUsedAt = try fields.required(5, session?.lastUsedAt)
    seed = try fields.required(6, session?.seed)
  }
}
