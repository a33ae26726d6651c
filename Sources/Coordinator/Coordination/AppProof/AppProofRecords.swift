import CommandEngine
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

  /// Adds a receipt. One that cannot be a record's ID is unknown.
  func addKeys(ofReceipt receipt: String, to keys: inout StoreKeys) {
    if let id = RecordID(Self.kind, receipt) { keys.add(record: id) }
  }

  /// Adds a page of the live receipts of a device token.
  /// - Parameters:
  ///   - hash: hash of the token.
  ///   - receipt: the last receipt of the page before; empty for the first page.
  func addKeys(ofToken hash: [UInt8], behind receipt: String = "", to keys: inout StoreKeys) throws(StoreError) {
    keys.add(group: try GroupKey(Self.tokens, hash), StoreKeys.GroupPage(behind: receipt))
  }

  func found(_ receipt: String, in set: WorkingSet) throws(StoreError) -> AppProof? {
    guard let id = RecordID(Self.kind, receipt), let record = try set.record(id) else { return nil }
    return try AppProof(record)
  }

  /// A proof that decides on further keys. One that cannot be read needs none: applying the message tells so.
  func legible(_ receipt: String, in set: WorkingSet) throws(StoreError) -> AppProof? {
    guard let id = RecordID(Self.kind, receipt), let record = try set.record(id) else { return nil }
    return try? AppProof(record)
  }

  /// The loaded page of the live receipts of a device token.
  func issued(toToken hash: [UInt8], in set: WorkingSet) throws(StoreError) -> ProofPage {
    let (records, isComplete) = try set.group(GroupKey(Self.tokens, hash))
    // A receipt that cannot be read is not accepted either, and must not keep the others valid.
    return ProofPage(
      proofs: records.compactMap { try? AppProof($0) }, end: isComplete ? nil : records.last?.id.text ?? "")
  }

  // MARK: Changes

  func put(_ proof: AppProof, in set: inout WorkingSet) throws(StoreError) {
    guard let id = RecordID(Self.kind, proof.receipt) else {
      throw StoreError(.misuse, "a receipt cannot be the ID of a record")
    }
    let deletion = (proof.endedAt ?? set.now) + retention
    let isLive = proof.state.isLive
    try set.store(
      id, body: proof.body, dueAt: isLive ? proof.expiresAt : deletion,
      discardAt: isLive ? proof.expiresAt + retention : deletion,
      groupKeys: isLive ? [GroupKey(Self.tokens, proof.tokenHash)] : [])
  }
}

/// Live receipts of a device token.
struct ProofPage: Sendable {
  var proofs: [AppProof]
  /// The last receipt of the page; `nil` when no further one follows.
  var end: String?
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
  }

  /// Body of its record.
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
    return fields.bytes
  }

  /// - Throws: ``StoreError/Code/content`` when the body cannot be read.
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
  }
}
