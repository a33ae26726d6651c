import Database
import FoundationEssentials

/// Values that are stored as JSON: those that are rarely written and never searched for.
enum StoredJSON {
  static func text(_ value: some Encodable) throws(DatabaseError) -> String {
    do {
      return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    } catch {
      throw DatabaseError(.misuse, "a value cannot be written as JSON")
    }
  }

  static func read<Content: Decodable>(_ text: String) throws(DatabaseError) -> Content {
    do {
      return try JSONDecoder().decode(Content.self, from: Data(text.utf8))
    } catch {
      throw DatabaseError(.corrupt, "a value that is stored as JSON cannot be read")
    }
  }
}
