import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials

extension StoreKeys {
  /// Adds a record. A text that cannot be the ID of one is unknown.
  mutating func add(_ kind: RecordKind, _ id: String) {
    if let id = RecordID(kind, id) { add(record: id) }
  }
}

extension WorkingSet {
  /// A loaded record. `nil` as well for a text that cannot be the ID of one.
  func record(_ kind: RecordKind, _ id: String) throws(StoreError) -> Record? {
    guard let id = RecordID(kind, id) else { return nil }
    return try record(id)
  }
}

extension RecordID {
  init(stored kind: RecordKind, _ id: String) throws(StoreError) {
    guard let id = RecordID(kind, id) else {
      throw StoreError(
        .content,
        "a text is not a record's ID (\(kind)): those have 1 to \(StoreLimits.maxIDBytes) visible ASCII characters")
    }
    self = id
  }
}

/// Values that are stored as JSON: those that are rarely written and never searched for.
enum StoredJSON {
  static func text(_ value: some Encodable) throws(StoreError) -> String {
    do {
      return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    } catch {
      throw StoreError(.content, "a value cannot be written as JSON")
    }
  }

  /// Far more than any record of the coordinator: bodies of messages have up to 64 KiB.
  private static let reader = JSONReader(maxBytes: 1 << 20)

  static func read<Content: Decodable>(_ text: String) throws(StoreError) -> Content {
    do {
      return try reader.decode(Content.self, from: text)
    } catch {
      throw StoreError(.content, "a value that is stored as JSON cannot be read")
    }
  }
}

/// IDs of verifications and of the coordinator's other operations: 48 bits of time in milliseconds and 128 random bits,
/// base64url, 30 characters. An ID entitles its holder to check codes, so it cannot be guessed.
///
/// The time comes first so that operations begun together are neighbors in the indexes: a commit then writes few pages.
enum VerificationID {
  static let randomBytes = 16

  /// The longest text that is looked up.
  static let maxLength = 64

  static func make(at now: UnixTime) -> String { text(at: now, SecureRandom.bytes(randomBytes)) }

  static func text(at now: UnixTime, _ random: some Collection<UInt8>) -> String {
    let time = UInt64(bitPattern: now.milliseconds)
    return Base64URL.encode((0..<6).map { UInt8(truncatingIfNeeded: time >> (40 - 8 * $0)) } + Array(random))
  }
}
