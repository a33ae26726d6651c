import CountersignTelemetry
import SQLite

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
