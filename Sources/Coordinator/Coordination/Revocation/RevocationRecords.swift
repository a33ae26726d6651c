import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// The latest revocation of a token holds its key.
struct RevocationRecords: Sendable {
  static let kind = RecordKind("revocation")
  private static let token = KeySpace(kind, "token")

  let policy: RevocationPolicy

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
    record.body = try revocation.body(of: record.id)
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

extension Revocation: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ revocation: Self?) throws(UnreadableFields) {
    id = record.id.text
    app = try fields.required(1, revocation?.app)
    tokenHash = try fields.required(2, revocation?.tokenHash)
    createdAt = try fields.required(3, revocation?.createdAt)
    notice = try fields.json(4, revocation?.notice)
    state = try fields.required(5, revocation?.state)
    expiresAt = try fields.required(6, revocation?.expiresAt)
    endedAt = fields.optional(7, revocation?.endedAt)
    ending = try fields.optional(8, revocation?.ending)
    failure = fields.failure(9, revocation?.failure)
    timeline = try fields.timeline(11, revocation?.timeline)
  }
}
