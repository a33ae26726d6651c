import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A program that acts as an administrator: its public keys and rights. It has no secret here.
struct ServiceAccountRecord: Sendable, Hashable {
  static let kind = RecordKind("serviceAccount")
  static let ofProject = KeySpace(kind, "project")
  /// Maximum number of a project.
  static let maxAccounts = 100
  static let maxKeys = 10

  let name: ServiceAccountName
  let createdAt: UnixTime
  var roles: Set<AdministratorRole>
  var keys: [Key] = []
  var isDisabled = false

  struct Key: Sendable, Hashable {
    let id: String
    /// PEM.
    let text: String
  }

  init(_ name: ServiceAccountName, roles: Set<AdministratorRole>, at now: UnixTime) {
    self.name = name
    self.roles = roles
    createdAt = now
  }

  func key(_ id: String) -> Key? { keys.first { $0.id == id } }

  var entry: ServiceAccountsListed.Entry {
    ServiceAccountsListed.Entry(
      email: name.email, roles: roles.sorted { $0.rawValue < $1.rawValue }, keyIDs: keys.map(\.id),
      disabled: isDisabled, createdAt: createdAt)
  }

  // MARK: Storing

  func store(in set: inout WorkingSet) throws(StoreError) {
    guard let id = name.id else { throw StoreError.unreadableBody }
    try set.store(id, self, dueAt: nil, discardAt: nil, groupKeys: [try Self.group(name.project)])
  }

  static func group(_ project: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofProject, Array(project.utf8))
  }

  /// `nil` when there is none.
  static func find(_ name: ServiceAccountName, in set: WorkingSet) throws(StoreError) -> ServiceAccountRecord? {
    guard let id = name.id, let record = try set.record(id) else { return nil }
    return try ServiceAccountRecord(record)
  }

  static func all(_ project: String, in set: WorkingSet) throws(StoreError) -> [ServiceAccountRecord] {
    var accounts: [ServiceAccountRecord] = []
    for record in try set.group(group(project)).records { accounts.append(try ServiceAccountRecord(record)) }
    return accounts
  }
}

extension ServiceAccountRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ account: Self?) throws(UnreadableFields) {
    name = ServiceAccountName(
      name: try fields.required(1, account?.name.name), project: try fields.required(2, account?.name.project))
    createdAt = try fields.required(3, account?.createdAt)
    roles = AdministratorRole.set(try fields.required(4, account.map { AdministratorRole.text($0.roles) }))
    isDisabled = fields.flag(5, account?.isDisabled)
    keys = try fields.list(6, account?.keys)
  }
}

extension ServiceAccountRecord.Key: FieldCoded {
  init(_ fields: inout FieldCoder, _ key: Self?) throws(UnreadableFields) {
    id = try fields.required(1, key?.id)
    text = try fields.required(2, key?.text)
  }

  private static let idBytes = 1...128
  private static let maxTextBytes = 4096
  /// RSA keys in bytes.
  private static let lengths = 256...512

  /// - Throws: `INVALID_ARGUMENT` for anything but a public RSA key with an ID.
  init(id: String?, publicKey: String?) throws(APIError) {
    guard let id, Self.idBytes.contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw APIError(
        .invalidArgument, "keyID must be \(Self.idBytes.upperBound) visible characters of ASCII at most",
        field: "keyID")
    }
    self.id = id
    text = publicKey ?? ""
    guard text.utf8.count <= Self.maxTextBytes, !text.contains("PRIVATE"), let modulus = verifying?.rsaComponents?.n,
      let bytes = Base64URL.decode(modulus), Self.lengths.contains(bytes.count)
    else {
      throw APIError(
        .invalidArgument, "publicKey must be a public key in PEM: RSA with 2,048 to 4,096 bits", field: "publicKey")
    }
  }

  /// `nil` for a text without an RSA key.
  var verifying: VerifyingKey? {
    // It is checked when it is added. One that cannot be read any longer verifies nothing.
    guard let key = try? VerifyingKey(file: Array(text.utf8)), key.algorithm == .rs256 else { return nil }
    return key
  }
}
