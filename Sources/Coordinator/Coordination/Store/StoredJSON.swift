import CountersignEncoding
import FoundationEssentials
import SQLite

/// Values that are stored as JSON: those that are rarely written and never searched for.
enum StoredJSON {
  static func text(_ value: some Encodable) throws(DatabaseError) -> String {
    do {
      return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    } catch {
      throw DatabaseError(.content, "a value cannot be written as JSON")
    }
  }

  /// Far more than any row of the coordinator: bodies of messages have up to 64 KiB.
  private static let reader = JSONReader(maxBytes: 1 << 20)

  static func read<Content: Decodable>(_ text: String) throws(DatabaseError) -> Content {
    do {
      return try reader.decode(Content.self, from: text)
    } catch {
      throw DatabaseError(.content, "a value that is stored as JSON cannot be read")
    }
  }
}
