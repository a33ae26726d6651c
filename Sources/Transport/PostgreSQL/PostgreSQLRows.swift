/// The result of a statement: rows in memory, independent of the connection.
///
/// An index beyond the end gives a row whose accessors throw ``StoreError/Code/unexpectedResult``.
public struct PostgreSQLRows: Sendable, RandomAccessCollection {
  let storage: RowStorage

  /// Rows that were inserted, updated or deleted, or that a query returned.
  public var affected: Int { storage.affected }
  /// The number of columns.
  public var columnCount: Int { storage.types.count }

  public var startIndex: Int { 0 }
  public var endIndex: Int { storage.rowCount }
  public subscript(position: Int) -> PostgreSQLRow { PostgreSQLRow(storage: storage, number: position) }
}
