import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PasswordHashing

/// Costs of the hashes that users of a project brought along, one decoy for each: with them a wrong password takes as
/// long for an address that no account has.
struct ImportedHashes: Sendable, Hashable {
  static let kind = RecordKind("importedHashes")
  /// Maximum number of decoys. Users with hashes of further costs can be told from others.
  static let most = 16

  private(set) var decoys: [PasswordHash] = []

  private init() {}

  private static func id(_ project: String) throws(StoreError) -> RecordID {
    guard let id = RecordID(kind, project) else { throw StoreError.unreadableBody }
    return id
  }

  static func addKeys(of project: String, to keys: inout StoreKeys) throws(StoreError) {
    keys.add(record: try id(project))
  }

  static func find(_ project: String, in set: WorkingSet) throws(StoreError) -> ImportedHashes {
    try set.record(id(project)).map { record throws(StoreError) in try ImportedHashes(record) } ?? ImportedHashes()
  }

  /// Notes the costs of hashes that are stored. Writes for a new one alone.
  static func note(_ hashes: [PasswordHash], of project: String, in set: inout WorkingSet) throws(StoreError) {
    let known = try find(project, in: set)
    var noted = known
    for hash in hashes where !hash.isCurrent && noted.decoys.count < most {
      let decoy = hash.decoy
      if !noted.decoys.contains(decoy) { noted.decoys.append(decoy) }
    }
    if noted != known { try set.store(id(project), noted, dueAt: nil, discardAt: nil) }
  }

  /// The decoy of an address, always the same one. `nil` for a project without imported hashes.
  func decoy(of email: String, _ project: String, _ hashes: AccountHashes) -> PasswordHash? {
    guard !decoys.isEmpty else { return nil }
    let hash = hashes.hash("decoy", [project, email.normalizedAddress])
    return decoys[hash.prefix(4).reduce(0) { $0 << 8 | Int($1) } % decoys.count]
  }
}

extension ImportedHashes: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ hashes: Self?) throws(UnreadableFields) {
    for place in 0..<Self.most {
      let known = hashes.flatMap { place < $0.decoys.count ? $0.decoys[place].stored : nil }
      guard let stored = fields.optional(UInt8(place + 1), known) else { return }
      decoys.append(try FieldCoder.present(PasswordHash(stored: stored)))
    }
  }
}
