import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

extension StoreKeys {
  /// A text that cannot be the ID of a record is unknown.
  mutating func add(_ kind: RecordKind, _ id: String) {
    if let id = RecordID(kind, id) { add(record: id) }
  }
}

extension WorkingSet {
  /// `nil` as well for a text that cannot be the ID of a record.
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

extension FieldCoder {
  /// A reason, in this field and the next one, if it is there.
  mutating func failure(_ tag: UInt8, _ failure: VerificationFailure?) -> VerificationFailure? {
    let (code, detail) = (optional(tag, failure?.code), optional(tag + 1, failure?.detail))
    return code.map { VerificationFailure(code: $0, detail: detail) }
  }

  mutating func timeline(_ tag: UInt8, _ timeline: Timeline?) throws(UnreadableFields) -> Timeline {
    let text = try required(tag, timeline?.text)
    return timeline ?? Timeline(text: text)
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
