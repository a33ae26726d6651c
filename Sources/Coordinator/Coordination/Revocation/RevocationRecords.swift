import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Revocations in the store. The latest one of a token holds its key.
struct RevocationRecords: Sendable {
  static let kind = RecordKind("revocation")
  private static let token = KeySpace(kind, "token")

  private let policy: RevocationPolicy

  init(_ policy: RevocationPolicy) {
    self.policy = policy
  }

  // MARK: Look-ups

  func revocation(_ id: String, in set: WorkingSet) throws(StoreError) -> Revocation? {
    try set.record(Self.kind, id).map { record throws(StoreError) in try Revocation(record) }
  }

  func revocation(ofToken token: TokenHash, in set: WorkingSet) throws(StoreError) -> Revocation? {
    let found = try set.each(token.all) { hash throws(StoreError) in try set.holder(of: UniqueKey(Self.token, hash)) }
    return try found.lazy.compactMap { $0 }.first.map { record throws(StoreError) in try Revocation(record) }
  }

  // MARK: Changes

  /// Adds a new revocation, which takes over the key of its token.
  func add(_ revocation: Revocation, of token: TokenHash, in set: inout WorkingSet) throws(StoreError) {
    for hash in token.all {
      guard var former = try set.holder(of: UniqueKey(Self.token, hash)) else { continue }
      former.uniqueKeys = []
      try set.put(former)
    }
    let id = try RecordID(stored: Self.kind, revocation.id)
    try set.put(filled(Record(id, body: [], uniqueKeys: [UniqueKey(Self.token, token.current)]), with: revocation, set))
  }

  /// Updates a revocation. It keeps its token key if it still holds one.
  func put(_ revocation: Revocation, in set: inout WorkingSet) throws(StoreError) {
    guard let record = try set.record(Self.kind, revocation.id) else { return }
    try set.put(filled(record, with: revocation, set))
  }

  private func filled(_ record: Record, with revocation: Revocation, _ set: WorkingSet) throws(StoreError) -> Record {
    var record = record
    record.body = try revocation.body()
    if revocation.state.isLive {
      let dueAt = revocation.expiresAt + RevocationPolicy.grace
      record.dueAt = dueAt
      record.discardAt = dueAt + policy.retention
    } else {
      record.dueAt = (revocation.endedAt ?? set.now) + policy.retention
      record.discardAt = record.dueAt
    }
    return record
  }
}

// MARK: Body

extension Revocation {
  /// Tags of the fields. Never reused.
  private enum Tag {
    static let app: UInt8 = 1
    static let tokenHash: UInt8 = 2
    static let createdAt: UInt8 = 3
    static let notice: UInt8 = 4
    static let state: UInt8 = 5
    static let expiresAt: UInt8 = 6
    static let endedAt: UInt8 = 7
    static let ending: UInt8 = 8
    static let failureCode: UInt8 = 9
    static let failureDetail: UInt8 = 10
    static let timeline: UInt8 = 11
  }

  fileprivate func body() throws(StoreError) -> [UInt8] {
    var fields = FieldWriter()
    fields.put(Tag.app, app)
    fields.put(Tag.tokenHash, tokenHash)
    fields.put(Tag.createdAt, createdAt)
    if let notice { fields.put(Tag.notice, try StoredJSON.text(notice)) }
    fields.put(Tag.state, state.rawValue)
    fields.put(Tag.expiresAt, expiresAt)
    fields.put(Tag.endedAt, endedAt)
    fields.put(Tag.ending, ending?.rawValue)
    fields.put(Tag.failureCode, failure?.code)
    fields.put(Tag.failureDetail, failure?.detail)
    fields.put(Tag.timeline, timeline.text)
    return fields.bytes
  }

  init(_ record: Record) throws(StoreError) {
    let fields = try FieldReader(record.body)
    id = record.id.text
    app = try fields.required(fields.text(Tag.app))
    tokenHash = try fields.required(fields.block(Tag.tokenHash))
    createdAt = try fields.required(fields.time(Tag.createdAt))
    if let text = fields.text(Tag.notice) { notice = try StoredJSON.read(text) }
    state = try fields.required(fields.word(Tag.state, State.self))
    expiresAt = try fields.required(fields.time(Tag.expiresAt))
    endedAt = fields.time(Tag.endedAt)
    ending = fields.text(Tag.ending).map(OperationEnding.init(rawValue:))
    failure = fields.text(Tag.failureCode).map {
      VerificationFailure(code: $0, detail: fields.text(Tag.failureDetail))
    }
    timeline = Timeline(text: try fields.required(fields.text(Tag.timeline)))
  }
}
