public import CountersignTelemetry

/// One row of a result. Columns count from 0.
///
/// Every accessor throws ``StoreError/Code/unexpectedResult`` for a row or column that is not there, for another
/// type, and for NULL where it is not optional.
public struct PostgreSQLRow: Sendable {
  let storage: RowStorage
  let number: Int

  /// Whether the column is NULL.
  public func isNull(_ column: Int) throws(StoreError) -> Bool { try cell(column) == nil }

  /// A column of type smallint, integer, bigint, boolean (1 or 0) or oid.
  public func int(_ column: Int) throws(StoreError) -> Int { try present(optionalInt(column), column) }

  /// A column of type boolean, or of an integer type, where anything but 0 is true.
  public func bool(_ column: Int) throws(StoreError) -> Bool { try int(column) != 0 }

  /// A column of type text, varchar, char, name or unknown.
  public func text(_ column: Int) throws(StoreError) -> String { try present(optionalText(column), column) }

  /// A column of type bytea.
  public func bytes(_ column: Int) throws(StoreError) -> [UInt8] { try present(optionalBytes(column), column) }

  /// A column of type smallint[], integer[] or bigint[] with one dimension.
  public func integers(_ column: Int) throws(StoreError) -> [Int64?] {
    try elements(column) { value, type in BinaryFormat.integer(value, type: type) }
  }

  /// A column of type text[] or varchar[] with one dimension.
  public func texts(_ column: Int) throws(StoreError) -> [String?] {
    try elements(column) { value, type in BinaryFormat.text(value, type: type) }
  }

  /// A column of type bytea[] with one dimension.
  public func byteArrays(_ column: Int) throws(StoreError) -> [[UInt8]?] {
    try elements(column) { value, type in BinaryFormat.bytes(value, type: type) }
  }

  /// Like ``int(_:)``, or nil for NULL.
  public func optionalInt(_ column: Int) throws(StoreError) -> Int? {
    try value(column) { value, type in BinaryFormat.integer(value, type: type).map(Int.init) }
  }

  /// Like ``text(_:)``, or nil for NULL.
  public func optionalText(_ column: Int) throws(StoreError) -> String? {
    try value(column) { value, type in BinaryFormat.text(value, type: type) }
  }

  /// Like ``bytes(_:)``, or nil for NULL.
  public func optionalBytes(_ column: Int) throws(StoreError) -> [UInt8]? {
    try value(column) { value, type in BinaryFormat.bytes(value, type: type) }
  }

  // MARK: Decoding

  private func cell(_ column: Int) throws(StoreError) -> Range<Int>? {
    guard storage.types.indices.contains(column), (0..<storage.rowCount).contains(number) else {
      throw StoreError(.unexpectedResult, "a result has no row \(number) with a column \(column)")
    }
    return storage.cell(row: number, column: column)
  }

  private func value<T>(
    _ column: Int, _ decode: (UnsafeRawBufferPointer, ServerType) -> T?
  ) throws(StoreError) -> T? {
    guard let range = try cell(column) else { return nil }
    let type = storage.types[column]
    let decoded = storage.bytes.withUnsafeBytes { decode(UnsafeRawBufferPointer(rebasing: $0[range]), type) }
    guard let value = decoded else {
      throw StoreError(
        .unexpectedResult, "column \(column) of a result, of type \(type), is not what was expected")
    }
    return value
  }

  private func elements<T>(
    _ column: Int, _ decode: (UnsafeRawBufferPointer, ServerType) -> T?
  ) throws(StoreError) -> [T?] {
    try present(value(column) { value, type in BinaryFormat.elements(value, type: type, decode) }, column)
  }

  private func present<T>(_ value: T?, _ column: Int) throws(StoreError) -> T {
    guard let value else { throw StoreError(.unexpectedResult, "column \(column) of a result is NULL") }
    return value
  }
}
