import CSQLite

/// The current row of a query, valid only while the closure that received it runs.
///
/// Columns count from 0. A column of another type is converted by SQLite's own rules
/// (https://www.sqlite.org/c3ref/column_blob.html); the accessors that are not optional read NULL as 0, "" or [].
public struct Row {
  private let statement: OpaquePointer

  init(_ statement: OpaquePointer) {
    self.statement = statement
  }

  /// The number of columns.
  public var count: Int { Int(sqlite3_column_count(statement)) }

  /// Whether the column is NULL.
  public func isNull(_ column: Int) -> Bool {
    sqlite3_column_type(statement, index(column)) == SQLITE_NULL
  }

  /// The column as an integer. NULL reads as 0.
  public func int(_ column: Int) -> Int {
    Int(sqlite3_column_int64(statement, index(column)))
  }

  /// The column as a truth value: anything but 0 and NULL is true.
  public func bool(_ column: Int) -> Bool {
    int(column) != 0
  }

  /// The column as a floating-point number. NULL reads as 0.
  public func real(_ column: Int) -> Double {
    sqlite3_column_double(statement, index(column))
  }

  /// The column as text. NULL reads as "". Bytes that are not UTF-8 are replaced by U+FFFD.
  public func text(_ column: Int) -> String {
    let column = index(column)
    guard let start = sqlite3_column_text(statement, column) else { return "" }
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The column as bytes. NULL reads as [].
  public func blob(_ column: Int) -> [UInt8] {
    let column = index(column)
    guard let start = sqlite3_column_blob(statement, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
  }

  /// The column as an integer, or nil when it is NULL.
  public func optionalInt(_ column: Int) -> Int? { isNull(column) ? nil : int(column) }

  /// The column as text, or nil when it is NULL.
  public func optionalText(_ column: Int) -> String? { isNull(column) ? nil : text(column) }

  /// SQLite leaves the result for an index outside the row undefined: asking for one is a mistake in the program.
  private func index(_ column: Int) -> Int32 {
    precondition(column >= 0 && column < count, "the query has no such column")
    return Int32(column)
  }
}
