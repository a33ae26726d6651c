import CommandEngine
import CountersignEncoding
import CountersignTelemetry

/// A credential that counts once, and has: a code, or an ID token of Apple.
///
/// It is stored in the transaction of its effect. Its ID is a hash without a key: the credential cannot be guessed, and
/// a change of the pepper must not let anything count twice.
struct UsedCredential {
  static let kind = RecordKind("usedCredential")

  let id: RecordID
  /// Session that alone has the effect again.
  private(set) var session: String?

  private init?(_ label: StaticString, _ parts: [String]) {
    guard let id = RecordID(Self.kind, Base64URL.encode(AccountHashes.digest(label, parts))) else { return nil }
    self.id = id
  }

  /// The code of a verification.
  init?(verification: String) { self.init("verification", [verification]) }

  /// A credential of a provider.
  init?(_ credential: SpentCredential, of provider: String) { self.init("identity", [provider] + credential.value) }

  /// The code that an operation of the coordinator revoked, for a session.
  init?(revocation operationID: String, for session: String) {
    self.init("revocation", [operationID])
    self.session = session
  }

  /// Whether it has counted for another session.
  func isUsedUp(in set: WorkingSet) throws(StoreError) -> Bool {
    guard let record = try set.record(id) else { return false }
    return try UsedCredential(record).session != session
  }

  func isUsed(in set: WorkingSet) throws(StoreError) -> Bool { try set.record(id) != nil }

  func store(until: UnixTime, in set: inout WorkingSet) throws(StoreError) {
    try set.store(id, self, dueAt: nil, discardAt: until)
  }
}

extension UsedCredential: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ credential: Self?) {
    id = record.id
    session = fields.optional(1, credential?.session)
  }
}
