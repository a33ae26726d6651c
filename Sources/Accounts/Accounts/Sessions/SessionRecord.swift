import CommandEngine
import CountersignCryptography
import CountersignTelemetry

/// Way of a sign-in, `sign_in_provider` of ID tokens.
enum SignInProvider: String, Sendable {
  case phone, anonymous
}

/// A session as it is stored: a sign-in on a device, until it ends.
///
/// Its ID begins with that of its account, so that a refresh token leads to both at once.
struct SessionRecord: Sendable, Hashable {
  static let kind = RecordKind("session")
  /// All sessions of an account.
  static let ofAccount = KeySpace(kind, "account")
  private static let randomLength = 22
  private static let separator: Character = "-"
  static let seedLength = 32

  let id: RecordID
  let project: String
  /// The account.
  let localID: String
  let provider: SignInProvider
  /// Time of the sign-in.
  let authTime: UnixTime
  /// Last refresh that was noted, or the sign-in.
  var lastUsedAt: UnixTime
  /// Part of what its refresh token is made of.
  let seed: [UInt8]

  /// Makes a new session.
  /// - Returns: `nil` for an account without a proper ID, which no account is.
  init?(of account: AccountRecord, provider: SignInProvider, at now: UnixTime) {
    let text = account.localID + String(Self.separator) + RandomID.make(length: Self.randomLength)
    guard let id = RecordID(Self.kind, text) else { return nil }
    self.id = id
    project = account.project
    localID = account.localID
    self.provider = provider
    authTime = now
    lastUsedAt = now
    seed = SecureRandom.bytes(Self.seedLength)
  }

  /// ID of the account that a session's ID names.
  /// - Parameter sessionID: from outside: it may be no ID at all.
  static func localID(ofSession sessionID: some StringProtocol) -> String? {
    let parts = sessionID.split(separator: separator, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 2, RandomID.isID(parts[0], length: AccountRecord.idLength),
      RandomID.isID(parts[1], length: randomLength)
    else { return nil }
    return String(parts[0])
  }

  /// Time from which it has been unused for too long.
  func end(_ rules: SessionRules) -> UnixTime { lastUsedAt + rules.unusedFor }

  /// Whether the account has ended it, or it was unused for too long.
  func isOver(at now: UnixTime, of account: AccountRecord, _ rules: SessionRules) -> Bool {
    localID != account.localID || authTime < account.validSince || end(rules) <= now
  }

  /// Whether the sign-in is recent enough for what cannot be undone. One from the future is not: the clock was set back,
  /// and tokens then say that the sign-in was when they were made.
  func isRecent(at now: UnixTime) -> Bool {
    let age = now - authTime
    return age >= .zero - IDTokens.maxSkew && age <= AccountRules.longestSensitiveAge
  }

  // MARK: Storing

  /// Numbers of the fields. A later version adds some; a number never changes its meaning.
  private enum Tag {
    static let project: UInt8 = 1
    static let localID: UInt8 = 2
    static let provider: UInt8 = 3
    static let authTime: UInt8 = 4
    static let lastUsedAt: UInt8 = 5
    static let seed: UInt8 = 6
  }

  /// Stores it until it has been unused for long enough; the maintenance deletes it then.
  func store(_ rules: SessionRules, in set: inout WorkingSet) throws(StoreError) {
    var body = FieldWriter(capacity: 160)
    body.put(Tag.project, project)
    body.put(Tag.localID, localID)
    body.put(Tag.provider, provider.rawValue)
    body.put(Tag.authTime, authTime)
    body.put(Tag.lastUsedAt, lastUsedAt)
    body.put(Tag.seed, seed)
    try set.store(
      id, body: body.bytes, dueAt: nil, discardAt: end(rules),
      groupKeys: [try Self.group(ofAccount: localID)])
  }

  init(_ record: Record) throws(StoreError) {
    let body = try FieldReader(record.body)
    id = record.id
    project = try body.required(body.text(Tag.project))
    localID = try body.required(body.text(Tag.localID))
    provider = try body.required(body.word(Tag.provider, SignInProvider.self))
    authTime = try body.required(body.time(Tag.authTime))
    lastUsedAt = try body.required(body.time(Tag.lastUsedAt))
    seed = try body.required(body.block(Tag.seed))
  }

  // MARK: Look-ups

  static func group(ofAccount localID: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofAccount, Array(localID.utf8))
  }

  /// Adds what ``find(_:in:)`` looks up.
  static func addKeys(of sessionID: String, to keys: inout StoreKeys) {
    if let id = RecordID(kind, sessionID) { keys.add(record: id) }
  }

  static func find(_ sessionID: String, in set: WorkingSet) throws(StoreError) -> SessionRecord? {
    guard let id = RecordID(kind, sessionID), let record = try set.record(id) else { return nil }
    return try SessionRecord(record)
  }
}
