import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

struct AppProofRecords: Sendable {
  static let kind = RecordKind("appProof")
  /// Live receipts of a device token, by the hash under which they were issued.
  private static let tokens = KeySpace(kind, "token")

  private let retention: Duration

  init(_ rules: CoordinatorRules) {
    retention = rules.retention
  }

  // MARK: Look-ups

  func addKeys(ofReceipt receipt: String, to keys: inout StoreKeys) {
    keys.add(Self.kind, receipt)
  }

  func found(_ receipt: String, in set: WorkingSet) throws(StoreError) -> AppProof? {
    try set.record(Self.kind, receipt).map { record throws(StoreError) in try AppProof(record) }
  }

  func issued(
    toToken hash: [UInt8], behind receipt: String = "", in set: WorkingSet
  ) throws(StoreError) -> (proofs: [AppProof], end: String?) {
    let (records, isComplete) = try set.group(
      GroupKey(Self.tokens, hash), StoreKeys.GroupPage(behind: receipt))
    // A receipt that cannot be read is not accepted either, and must not keep the others valid.
    return (records.compactMap { try? AppProof($0) }, isComplete ? nil : records.last?.id.text ?? "")
  }

  // MARK: Changes

  func put(_ proof: AppProof, isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    let deletion = (proof.endedAt ?? set.now) + retention
    let isLive = proof.state.isLive
    try set.store(
      RecordID(stored: Self.kind, proof.receipt), proof, isNew: isNew, dueAt: isLive ? proof.expiresAt : deletion,
      discardAt: isLive ? proof.expiresAt + retention : deletion,
      groupKeys: isLive ? [GroupKey(Self.tokens, proof.tokenHash)] : [])
  }
}

extension AppProof: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ proof: Self?) throws(UnreadableFields) {
    receipt = record.id.text
    app = try fields.required(1, proof?.app)
    tokenHash = try fields.required(2, proof?.tokenHash)
    earlierTokenHash = fields.optional(3, proof?.earlierTokenHash)
    environment = try fields.required(4, proof?.environment)
    let secret = try fields.required(5, proof?.secret.blob)
    self.secret = try FieldCoder.present(proof?.secret ?? SecretAtRest(blob: secret))
    createdAt = try fields.required(6, proof?.createdAt)
    state = try fields.required(7, proof?.state)
    expiresAt = try fields.required(8, proof?.expiresAt)
    endedAt = fields.optional(9, proof?.endedAt)
    uses = try fields.required(10, proof?.uses)
    push = try fields.required(11, proof?.push)
    failure = fields.failure(12, proof?.failure)
    timeline = try fields.timeline(14, proof?.timeline)
    isOfKnownAddress = fields.flag(15, proof?.isOfKnownAddress)
  }
}

/// A refusal counts until it may be discarded. The store purges it then.
struct RefusedTokenRecords: Sendable {
  static let kind = RecordKind("refusedToken")
  /// Refusals of a device token, in whichever environment.
  private static let tokens = KeySpace(kind, "token")

  func addKeys(of token: TokenHash, _ environment: PushEnvironment, to keys: inout StoreKeys) throws(StoreError) {
    for hash in token.all { keys.add(record: try Self.id(hash, environment)) }
  }

  func addKeys(ofAll token: TokenHash, to keys: inout StoreKeys) throws(StoreError) {
    for hash in token.all { keys.add(group: try GroupKey(Self.tokens, hash)) }
  }

  func refusal(
    of token: TokenHash, _ environment: PushEnvironment, in set: WorkingSet
  ) throws(StoreError) -> VerificationFailure? {
    for hash in token.all {
      guard let record = try set.record(Self.id(hash, environment)), Self.counts(record, at: set.now) else { continue }
      return try VerificationFailure(record)
    }
    return nil
  }

  func remember(
    _ refusal: VerificationFailure, of hash: [UInt8], _ environment: PushEnvironment, until end: UnixTime,
    in set: inout WorkingSet
  ) throws(StoreError) {
    try set.store(
      Self.id(hash, environment), refusal, dueAt: nil, discardAt: end, groupKeys: [GroupKey(Self.tokens, hash)])
  }

  /// Left to the purge: another report of the same batch may renew them.
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
    try RecordID(stored: kind, "\(Base64URL.encode(hash)).\(environment.rawValue)")
  }
}

extension VerificationFailure: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ failure: Self?) throws(UnreadableFields) {
    self = try FieldCoder.present(fields.failure(1, failure))
  }
}

/// Mark that the receipts of a device token are revoked, because the token is no longer registered.
///
/// A report revokes a page of them. This holds for the others at once, and has the maintenance revoke them page by
/// page.
struct RevokedToken: Sendable, Hashable {
  let tokenHash: [UInt8]
  /// Receipts issued up to this time are revoked.
  let at: UnixTime
  /// The receipt whose push was refused: it is undelivered, as its report says.
  let reported: String
  /// The last receipt of the last revoked page, empty at first. `nil` once all are revoked.
  var behind: String?

  func revokes(_ proof: AppProof) -> Bool {
    proof.createdAt <= at && proof.receipt != reported
  }
}

extension RevokedToken: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ token: Self?) throws(UnreadableFields) {
    tokenHash = try fields.required(1, token?.tokenHash)
    at = try fields.required(2, token?.at)
    reported = try fields.required(3, token?.reported)
    behind = fields.optional(4, token?.behind)
  }
}

struct RevokedTokenRecords: Sendable {
  static let kind = RecordKind("revokedToken")

  /// No receipt lives longer.
  private let lifetime: Duration

  init(_ rules: CoordinatorRules) {
    lifetime = rules.proof.credentialLifetime
  }

  func addKeys(of token: TokenHash, to keys: inout StoreKeys) throws(StoreError) {
    for hash in token.all { keys.add(record: try Self.id(hash)) }
  }

  func found(_ token: TokenHash, in set: WorkingSet) throws(StoreError) -> [RevokedToken] {
    var found: [RevokedToken] = []
    for record in try set.each(token.all, { hash throws(StoreError) in try set.record(Self.id(hash)) }) {
      if let record { found.append(try RevokedToken(record)) }
    }
    return found
  }

  /// Due at once while there are receipts to revoke, and purged once none is left that it concerns.
  func put(_ token: RevokedToken, in set: inout WorkingSet) throws(StoreError) {
    try set.store(
      Self.id(token.tokenHash), token, dueAt: token.behind == nil ? nil : set.now, discardAt: token.at + lifetime)
  }

  private static func id(_ hash: [UInt8]) throws(StoreError) -> RecordID {
    try RecordID(stored: kind, Base64URL.encode(hash))
  }
}
