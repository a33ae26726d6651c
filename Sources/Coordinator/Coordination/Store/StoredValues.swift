import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import SQLite

/// A value from a table, with the version that guards its update.
struct Stored<Content: Sendable>: Sendable {
  var content: Content
  let version: Int
}

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

extension Row {
  /// The column as milliseconds since 1970.
  func time(_ column: Int) -> UnixTime {
    UnixTime(milliseconds: Int64(int(column)))
  }

  func optionalTime(_ column: Int) -> UnixTime? {
    isNull(column) ? nil : time(column)
  }

  /// The reason with its code in one column and its text in the next.
  func failure(_ column: Int) -> VerificationFailure? {
    optionalText(column).map { VerificationFailure(code: $0, detail: optionalText(column + 1)) }
  }

  /// The column as one of the words of a type.
  func word<Word: RawRepresentable>(_ column: Int, _ type: Word.Type) throws(DatabaseError) -> Word
  where Word.RawValue == String {
    guard let word = Word(rawValue: text(column)) else {
      throw DatabaseError(.content, "a row has a word that is not known: another version of the program wrote it")
    }
    return word
  }

  /// The value that a reader makes of the row, or `nil` if it is unreadable: one row must not fail a read of many.
  func unlessUnreadable<Content>(
    _ read: (Row) throws(DatabaseError) -> Content
  ) throws(DatabaseError) -> Content? {
    do throws(DatabaseError) {
      return try read(self)
    } catch {
      guard error.fault == .content else { throw error }
      return nil
    }
  }
}
