import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PasswordHashing

/// Hash of an account's password, under the account's ID: a record of its own, so that look-ups do not load it.
struct PasswordRecord: Sendable {
  static let kind = RecordKind("password")

  let id: RecordID
  let hash: PasswordHash

  /// The record's ID for an account.
  static func id(of account: RecordID) throws(StoreError) -> RecordID {
    guard let id = RecordID(kind, account.text) else { throw StoreError.unreadableBody }
    return id
  }

  static func find(_ account: RecordID, in set: WorkingSet) throws(StoreError) -> PasswordRecord? {
    guard let record = try set.record(id(of: account)) else { return nil }
    return try PasswordRecord(record)
  }
}

extension PasswordRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ password: Self?) throws(UnreadableFields) {
    id = record.id
    let stored = try fields.required(1, password?.hash.stored)
    hash = try FieldCoder.present(PasswordHash(stored: stored))
  }
}

extension AccountRecord {
  /// The record is stored at once, the account is not.
  mutating func setPassword(_ hash: PasswordHash, in set: inout WorkingSet) throws(StoreError) {
    try storePassword(hash, in: &set)
    passwordChangedAt = set.now
  }

  /// Stores the hash in place of the one before, of the same password.
  func storePassword(_ hash: PasswordHash, in set: inout WorkingSet) throws(StoreError) {
    let id = try PasswordRecord.id(of: id)
    let isNew = try set.record(id) == nil
    try set.store(id, PasswordRecord(id: id, hash: hash), isNew: isNew, dueAt: nil, discardAt: nil)
  }

  /// Removes the hash of an account that had a password and has none any longer.
  func removeLostPassword(of before: AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    if before.hasPassword, !hasPassword { try set.remove(PasswordRecord.id(of: id)) }
  }

  mutating func removePassword(in set: inout WorkingSet) throws(StoreError) {
    try set.remove(PasswordRecord.id(of: id))
    passwordChangedAt = nil
  }

  /// Whether its own address was never proven: its maker may have typed anyone's. Not so with second factors, which need
  /// a proven address: they were there before this one, and a mailbox alone takes none away.
  func hasUnproven(_ address: String) -> Bool {
    !isEmailVerified && secondFactors.isEmpty && email?.normalizedAddress == address.normalizedAddress
  }

  /// Takes everything else that opens the account from it: somebody made it who never proved its address. The sessions
  /// are to be ended.
  mutating func disown(in set: inout WorkingSet) throws(StoreError) {
    try removePassword(in: &set)
    disownAll()
  }

  /// The same but for the record of the password.
  mutating func disownAll() {
    passwordChangedAt = nil
    disownOthers()
  }

  /// The same but for the password itself, which is about to be replaced.
  mutating func disownOthers() {
    phoneNumber = nil
    isNumberFictional = false
    numberTrustedFrom = nil
    emailTrustedFrom = nil
    signsInByLink = false
    consents = []
    unlink(Set(identities.map(\.provider)))
  }
}
