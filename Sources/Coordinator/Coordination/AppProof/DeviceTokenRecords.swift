import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Device tokens that Apple has refused lately, in the store.
///
/// A refusal counts until it may be discarded; the store purges it then.
struct RefusedTokenRecords: Sendable {
  static let kind = RecordKind("refusedToken")
  /// Refusals of a device token, in whichever environment.
  private static let tokens = KeySpace(kind, "token")

  private enum Tag {
    static let code: UInt8 = 1
    static let detail: UInt8 = 2
  }

  /// Adds the refusals of a device token in an environment.
  func addKeys(of token: TokenHash, _ environment: PushEnvironment, to keys: inout StoreKeys) throws(StoreError) {
    for hash in token.all { keys.add(record: try Self.id(hash, environment)) }
  }

  /// Adds the refusals of a device token in all environments.
  func addKeys(ofAll token: TokenHash, to keys: inout StoreKeys) throws(StoreError) {
    for hash in token.all { keys.add(group: try GroupKey(Self.tokens, hash)) }
  }

  /// Reason that Apple recently refused pushes to a device token, if it did.
  func refusal(
    of token: TokenHash, _ environment: PushEnvironment, in set: WorkingSet
  ) throws(StoreError) -> VerificationFailure? {
    for hash in token.all {
      guard let record = try set.record(Self.id(hash, environment)), Self.counts(record, at: set.now) else { continue }
      let fields = try FieldReader(record.body)
      return VerificationFailure(code: try fields.required(fields.text(Tag.code)), detail: fields.text(Tag.detail))
    }
    return nil
  }

  func remember(
    _ refusal: VerificationFailure, of hash: [UInt8], _ environment: PushEnvironment, until end: UnixTime,
    in set: inout WorkingSet
  ) throws(StoreError) {
    var fields = FieldWriter(capacity: 128)
    fields.put(Tag.code, refusal.code)
    fields.put(Tag.detail, refusal.detail)
    try set.store(
      Self.id(hash, environment), body: fields.bytes, dueAt: nil, discardAt: end,
      groupKeys: [GroupKey(Self.tokens, hash)])
  }

  /// Ends all refusals of a device token. They are left to the purge: another report of the same batch may renew them.
  func forget(_ token: TokenHash, in set: inout WorkingSet) throws(StoreError) {
    for hash in token.all {
      for var record in try set.group(GroupKey(Self.tokens, hash)).records where Self.counts(record, at: set.now) {
        record.discardAt = set.now
        try set.put(record)
      }
    }
  }

  private static func counts(_ record: Record, at now: UnixTime) -> Bool {
    record.discardAt.map { $0 > now } ?? false
  }

  private static func id(_ hash: [UInt8], _ environment: PushEnvironment) throws(StoreError) -> RecordID {
    try RecordID(ofToken: hash, kind, suffix: ".\(environment.rawValue)")
  }
}

/// Mark that the receipts of a device token are revoked, because the token is no longer registered.
///
/// A report revokes a page of them. This holds for the others at once, and has the maintenance revoke them page by
/// page.
struct RevokedToken: Sendable, Hashable {
  /// Hash of the device token.
  let tokenHash: [UInt8]
  /// Receipts issued up to this time are revoked.
  let at: UnixTime
  /// The receipt whose push was refused: it is undelivered, as its report says.
  let reported: String
  /// The last receipt of the last revoked page, empty at first; `nil` once all are revoked.
  var behind: String?

  /// Whether a receipt of the device is revoked.
  func revokes(_ proof: AppProof) -> Bool {
    proof.createdAt <= at && proof.receipt != reported
  }
}

/// Device tokens whose receipts are revoked, in the store.
struct RevokedTokenRecords: Sendable {
  static let kind = RecordKind("revokedToken")

  private enum Tag {
    static let tokenHash: UInt8 = 1
    static let at: UInt8 = 2
    static let reported: UInt8 = 3
    static let behind: UInt8 = 4
  }

  /// No receipt lives longer.
  private let lifetime: Duration

  init(_ rules: CoordinatorRules) {
    lifetime = rules.proof.credentialLifetime
  }

  func addKeys(of token: TokenHash, to keys: inout StoreKeys) throws(StoreError) {
    for hash in token.all { keys.add(record: try RecordID(ofToken: hash, Self.kind)) }
  }

  func found(_ token: TokenHash, in set: WorkingSet) throws(StoreError) -> [RevokedToken] {
    var found: [RevokedToken] = []
    for hash in token.all {
      if let record = try set.record(RecordID(ofToken: hash, Self.kind)) { found.append(try Self.read(record)) }
    }
    return found
  }

  static func read(_ record: Record) throws(StoreError) -> RevokedToken {
    let fields = try FieldReader(record.body)
    return RevokedToken(
      tokenHash: try fields.required(fields.block(Tag.tokenHash)), at: try fields.required(fields.time(Tag.at)),
      reported: try fields.required(fields.text(Tag.reported)), behind: fields.text(Tag.behind))
  }

  /// Due at once while there are receipts to revoke, and purged once none is left that it concerns.
  func put(_ token: RevokedToken, in set: inout WorkingSet) throws(StoreError) {
    var fields = FieldWriter(capacity: 128)
    fields.put(Tag.tokenHash, token.tokenHash)
    fields.put(Tag.at, token.at)
    fields.put(Tag.reported, token.reported)
    fields.put(Tag.behind, token.behind)
    try set.store(
      RecordID(ofToken: token.tokenHash, Self.kind), body: fields.bytes,
      dueAt: token.behind == nil ? nil : set.now, discardAt: token.at + lifetime)
  }
}

extension RecordID {
  /// - Parameters:
  ///   - hash: hash of a device token.
  ///   - kind: kind of the record.
  ///   - suffix: end of the ID.
  fileprivate init(ofToken hash: [UInt8], _ kind: RecordKind, suffix: String = "") throws(StoreError) {
    guard let id = RecordID(kind, Base64URL.encode(hash) + suffix) else {
      throw StoreError(.content, "the hash of a device token has a wrong length")
    }
    self = id
  }
}
