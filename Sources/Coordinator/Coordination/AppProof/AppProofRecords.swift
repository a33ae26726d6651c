import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Receipts in the store.
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

  /// A page of the live receipts of a device token.
  func issued(
    toToken hash: [UInt8], behind receipt: String = "", in set: WorkingSet
  ) throws(StoreError) -> (proofs: [AppProof], end: String?) {
    let (records, isComplete) = try set.group(
      GroupKey(Self.tokens, hash), StoreKeys.GroupPage(behind: receipt))
    // A receipt that cannot be read is not accepted either, and must not keep the others valid.
    return (records.compactMap { try? AppProof($0) }, isComplete ? nil : records.last?.id.text ?? "")
  }

  // MARK: Changes

  func put(_ proof: AppProof, in set: inout WorkingSet) throws(StoreError) {
    let deletion = (proof.endedAt ?? set.now) + retention
    let isLive = proof.state.isLive
    try set.store(
      RecordID(stored: Self.kind, proof.receipt), body: proof.body, dueAt: isLive ? proof.expiresAt : deletion,
      discardAt: isLive ? proof.expiresAt + retention : deletion,
      groupKeys: isLive ? [GroupKey(Self.tokens, proof.tokenHash)] : [])
  }
}

extension AppProof {
  private enum Tag {
    static let app: UInt8 = 1
    static let tokenHash: UInt8 = 2
    static let earlierTokenHash: UInt8 = 3
    static let environment: UInt8 = 4
    static let secret: UInt8 = 5
    static let createdAt: UInt8 = 6
    static let state: UInt8 = 7
    static let expiresAt: UInt8 = 8
    static let endedAt: UInt8 = 9
    static let uses: UInt8 = 10
    static let push: UInt8 = 11
    static let failureCode: UInt8 = 12
    static let failureDetail: UInt8 = 13
    static let timeline: UInt8 = 14
    static let isOfKnownAddress: UInt8 = 15
  }

  fileprivate var body: [UInt8] {
    var fields = FieldWriter()
    fields.put(Tag.app, app)
    fields.put(Tag.tokenHash, tokenHash)
    fields.put(Tag.earlierTokenHash, earlierTokenHash)
    fields.put(Tag.environment, environment.rawValue)
    fields.put(Tag.secret, secret.blob)
    fields.put(Tag.createdAt, createdAt)
    fields.put(Tag.state, state.rawValue)
    fields.put(Tag.expiresAt, expiresAt)
    fields.put(Tag.endedAt, endedAt)
    fields.put(Tag.uses, uses)
    fields.put(Tag.push, push.rawValue)
    fields.put(Tag.failureCode, failure?.code)
    fields.put(Tag.failureDetail, failure?.detail)
    fields.put(Tag.timeline, timeline.text)
    fields.put(Tag.isOfKnownAddress, isOfKnownAddress)
    return fields.bytes
  }

  init(_ record: Record) throws(StoreError) {
    let fields = try FieldReader(record.body)
    receipt = record.id.text
    app = try fields.required(fields.text(Tag.app))
    tokenHash = try fields.required(fields.block(Tag.tokenHash))
    earlierTokenHash = fields.block(Tag.earlierTokenHash)
    environment = try fields.required(fields.word(Tag.environment, PushEnvironment.self))
    secret = try fields.required(fields.block(Tag.secret).flatMap(SecretAtRest.init(blob:)))
    createdAt = try fields.required(fields.time(Tag.createdAt))
    state = try fields.required(fields.word(Tag.state, AppProofState.self))
    expiresAt = try fields.required(fields.time(Tag.expiresAt))
    endedAt = fields.time(Tag.endedAt)
    uses = try fields.required(fields.number(Tag.uses))
    push = try fields.required(fields.word(Tag.push, PhoneVerification.MessageProgress.self))
    failure = fields.text(Tag.failureCode).map {
      VerificationFailure(code: $0, detail: fields.text(Tag.failureDetail))
    }
    timeline = Timeline(text: try fields.required(fields.text(Tag.timeline)))
    isOfKnownAddress = fields.isSet(Tag.isOfKnownAddress)
  }
}

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
    // An earlier one of it is replaced.
    _ = try set.record(Self.id(hash, environment))
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
    try RecordID(stored: kind, "\(Base64URL.encode(hash)).\(environment.rawValue)")
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
    for hash in token.all { keys.add(record: try Self.id(hash)) }
  }

  func found(_ token: TokenHash, in set: WorkingSet) throws(StoreError) -> [RevokedToken] {
    var found: [RevokedToken] = []
    for record in try set.each(token.all, { hash throws(StoreError) in try set.record(Self.id(hash)) }) {
      if let record { found.append(try Self.read(record)) }
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
      Self.id(token.tokenHash), body: fields.bytes, dueAt: token.behind == nil ? nil : set.now,
      discardAt: token.at + lifetime)
  }

  private static func id(_ hash: [UInt8]) throws(StoreError) -> RecordID {
    try RecordID(stored: kind, Base64URL.encode(hash))
  }
}
