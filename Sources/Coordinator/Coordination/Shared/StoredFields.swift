import CommandEngine
import CountersignEncoding
import FoundationEssentials

extension StoreKeys {
  /// Adds a record. A text that cannot be the ID of one is unknown.
  mutating func add(_ kind: RecordKind, _ id: String) {
    if let id = RecordID(kind, id) { add(record: id) }
  }
}

extension WorkingSet {
  /// A loaded record; `nil` as well for a text that cannot be the ID of one.
  func record(_ kind: RecordKind, _ id: String) throws(StoreError) -> Record? {
    guard let id = RecordID(kind, id) else { return nil }
    return try record(id)
  }
}

extension RecordID {
  /// The ID of a record that the coordinator stores or looks up.
  /// - Throws: ``StoreError/Code/content`` for a text that cannot be one.
  init(stored kind: RecordKind, _ id: String) throws(StoreError) {
    guard let id = RecordID(kind, id) else {
      throw StoreError(
        .content,
        "a text is no record's ID (\(kind)): those have 1 to \(StoreLimits.maxIDBytes) visible ASCII characters")
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
