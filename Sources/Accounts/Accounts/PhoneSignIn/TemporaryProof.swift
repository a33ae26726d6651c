import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Proof that somebody has just given back the code of a number that another account has: it signs in to that account,
/// once.
///
/// Only a code yields one; a proof never yields another. The proof itself is not stored: it follows, under the pepper,
/// from a random seed, and the record's ID from the proof.
struct TemporaryProof {
  static let kind = RecordKind("temporaryProof")
  static let lifetime = Duration.seconds(3600)
  /// Bytes of the seed: too many to guess.
  static let seedLength = 16
  private static let maxBytes = 128

  let id: RecordID
  let project: String
  /// E.164.
  let phoneNumber: String
  /// That app alone may use it.
  let app: String
  let isFictional: Bool
  let expiresAt: UnixTime

  /// A proof as its holder gets it, with the seed that makes it once more.
  struct Text {
    let seed: [UInt8]
    let secret: Secret
    let id: RecordID

    init?(seed: [UInt8], _ hashes: AccountHashes) {
      guard seed.count == TemporaryProof.seedLength else { return nil }
      self.seed = seed
      let text = Base64URL.encode(hashes.hash("temporary proof", [Hexadecimal.encode(seed)]))
      guard let id = TemporaryProof.id(of: text, hashes) else { return nil }
      secret = Secret(text)
      self.id = id
    }

    static func all(seed: [UInt8], _ hashes: AccountHashes) -> [Text] {
      ([hashes] + hashes.former).compactMap { Text(seed: seed, $0) }
    }
  }

  private static func id(of text: String, _ hashes: AccountHashes) -> RecordID? {
    guard text.utf8.count <= maxBytes else { return nil }
    return RecordID(kind, hashes.id("temporary proof ID", [text]))
  }

  static func ids(of text: String, _ hashes: AccountHashes) -> [RecordID] {
    ([hashes] + hashes.former).compactMap { id(of: text, $0) }
  }

  // MARK: Storing

  func store(in set: inout WorkingSet) throws(StoreError) {
    try set.store(id, self, isNew: true, dueAt: nil, discardAt: expiresAt)
  }

  static func find(_ ids: [RecordID], in set: WorkingSet) throws(StoreError) -> TemporaryProof? {
    for id in ids {
      guard let record = try set.record(id) else { continue }
      let proof = try TemporaryProof(record)
      if set.now < proof.expiresAt { return proof }
    }
    return nil
  }
}

extension TemporaryProof: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ proof: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, proof?.project)
    phoneNumber = try fields.required(2, proof?.phoneNumber)
    isFictional = fields.flag(3, proof?.isFictional)
    expiresAt = try fields.required(4, proof?.expiresAt)
    app = try fields.required(5, proof?.app)
  }
}
