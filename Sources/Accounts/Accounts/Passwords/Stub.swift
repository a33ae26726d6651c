import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects

struct Passwords: Sendable {
  func check(_ password: Secret, _ project: Project) throws(APIError) {}
  func hash(_ password: Secret) async throws(APIError) -> PasswordHash {
    do throws(PasswordHashingError) { return try PasswordHash.make(password) } catch { throw .userNotFound }
  }
  func imported(_ user: UserFields, _ parameters: HashParameters?) throws(APIError) -> PasswordHash? { nil }
}

struct PasswordRecord {
  static let kind = RecordKind("password")
  let id: RecordID
  let hash: PasswordHash
  static func id(of account: RecordID) -> RecordID? { RecordID(kind, account.text) }
  static func find(_ account: RecordID, in set: WorkingSet) throws(StoreError) -> PasswordRecord? {
    guard let id = id(of: account), let record = try set.record(id) else { return nil }
    return try PasswordRecord(record)
  }
}

extension PasswordRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ password: Self?) throws(UnreadableFields) {
    id = record.id
    let text = try fields.required(1, password?.hash.stored)
    hash = try FieldCoder.present(PasswordHash(stored: text))
  }
}

extension AccountRecord {
  mutating func setPassword(_ hash: PasswordHash, in set: inout WorkingSet) throws(StoreError) {
    guard let id = PasswordRecord.id(of: id) else { return }
    passwordChangedAt = set.now
    try set.store(id, PasswordRecord(id: id, hash: hash), dueAt: nil, discardAt: nil)
  }
  mutating func removePassword(in set: inout WorkingSet) throws(StoreError) {
    guard let id = PasswordRecord.id(of: id) else { return }
    passwordChangedAt = nil
    _ = try set.record(id)
    try set.remove(id)
  }
}

enum MailAddress {
  static func read(_ text: String?) throws(APIError) -> String {
    guard let text, !text.isEmpty else { throw APIError(.missingEmail, "missing") }
    guard ProjectForms.isMailAddress(text) else { throw APIError(.invalidEmail, "invalid") }
    return text
  }
}
