import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import Projects

/// OpenID Connect provider that administrators have set. The record holds nothing but a sealed text: write access to
/// the database does not suffice to let an issuer sign anybody in.
struct OpenIDRecord: Sendable {
  static let kind = RecordKind("openIDProvider")
  static let ofProject = KeySpace(kind, "project")
  private static let form = "countersign OpenID Connect provider"
  /// Time after which a record is sealed again, so that it follows a change of the token keys.
  private static let sealedFor = Duration.seconds(86_400)

  let sealed: String

  static func id(_ provider: String, of project: String) -> RecordID? {
    OpenIDForms.isID(provider) ? RecordID(kind, "\(project)/\(provider)") : nil
  }

  static func group(_ project: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofProject, Array(project.utf8))
  }

  /// `nil` for whatever keeps it closed: a key that is gone, or a record that was changed.
  static func open(_ record: Record, with ring: KeyRing) -> OpenIDConfiguration? {
    // Each error means that the provider cannot be used until an administrator sets it anew: the caller says so.
    guard let stored = try? OpenIDRecord(record), let opened = try? JWE.open(stored.sealed, with: ring),
      header(record.id).allSatisfy({ opened.header[$0.key] == $0.value })
    else { return nil }
    // A content of another version, likewise.
    return try? OpenIDConfiguration(fields: opened.plaintext)
  }

  private static func header(_ id: RecordID) -> [String: String] { ["form": form, "provider": id.text] }

  /// - Parameter seals: sealed texts of the runs of a command, by what is sealed.
  static func store(
    _ configuration: OpenIDConfiguration, of project: String, sealedUnder ring: KeyRing, _ seals: Once<[UInt8], String>,
    in set: inout WorkingSet
  ) throws(StoreError) {
    // The error would say no more: the order has checked every field.
    guard let id = id(configuration.id, of: project), let key = ring.sealing, let bytes = try? configuration.fields()
    else { throw StoreError(.content, "an OpenID Connect provider cannot be written") }
    let sealed = try seals.value(of: bytes) { () throws(StoreError) in
      // Nor this one: the ring was read at the start.
      guard let sealed = try? JWE.seal(bytes, with: key, header: header(id)) else {
        throw StoreError(.content, "an OpenID Connect provider cannot be sealed")
      }
      return sealed
    }
    try set.store(
      id, OpenIDRecord(sealed: sealed), dueAt: set.now + sealedFor, discardAt: nil, groupKeys: [try group(project)])
  }

  /// Seals a record that is due under the key that seals now. One that cannot be opened is put off.
  static func sealAgain(_ record: Record, with ring: KeyRing, in set: inout WorkingSet) throws(StoreError) {
    guard let configuration = open(record, with: ring), let end = record.id.text.firstIndex(of: "/") else {
      var record = record
      record.dueAt = set.now + sealedFor
      return try set.put(record)
    }
    try store(configuration, of: String(record.id.text[..<end]), sealedUnder: ring, Once(), in: &set)
  }
}

extension OpenIDRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ stored: Self?) throws(UnreadableFields) {
    sealed = try fields.required(1, stored?.sealed)
  }
}

extension OpenIDConfiguration: FieldCoded {
  init(_ fields: inout FieldCoder, _ provider: Self?) throws(UnreadableFields) {
    id = try fields.required(1, provider?.id)
    displayName = fields.optional(2, provider?.displayName)
    isEnabled = fields.flag(3, provider?.isEnabled)
    issuer = try fields.required(4, provider?.issuer)
    clients = try fields.list(5, provider?.clients)
    usesCodeFlow = fields.flag(6, provider?.usesCodeFlow)
    scopes = try fields.json(7, provider?.scopes) ?? []
    parameters = try fields.json(8, provider?.parameters) ?? [:]
  }
}

extension OpenIDConfiguration.Client: FieldCoded {
  init(_ fields: inout FieldCoder, _ client: Self?) throws(UnreadableFields) {
    id = try fields.required(1, client?.id)
    platform = try fields.optional(2, client?.platform)
    secret = fields.optional(3, client?.secret?.reveal()).map(Secret.init)
  }
}
