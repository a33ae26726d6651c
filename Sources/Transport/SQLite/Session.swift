public import CountersignTelemetry

/// Access of a body of ``Database/write(_:)`` or ``Database/read(_:)`` to its connection, inside a transaction.
///
/// It is valid only while the body runs, on the connection's own thread. Prepared statements are kept by the text of
/// their SQL, so values belong into the `?`s, not into the text.
public struct Session {
  let connection: SQLiteConnection

  /// Runs a statement that returns no rows of interest.
  /// - Parameters:
  ///   - sql: one statement; transaction control is refused.
  ///   - values: values of its `?`s, in order.
  /// - Returns: the number of rows that were inserted, updated or deleted.
  /// - Throws: ``StoreError``; its changes are undone, and the body may go on.
  @discardableResult
  public func execute(_ sql: String, _ values: [Value] = []) throws(StoreError) -> Int {
    try connection.execute(sql, values)
  }

  /// Runs a statement and maps each of its rows. All are held in memory: give the statement a LIMIT.
  /// - Parameters:
  ///   - sql: one statement.
  ///   - values: values of its `?`s, in order.
  ///   - row: makes a value of a row; an error that it throws ends the query.
  public func query<T>(
    _ sql: String, _ values: [Value] = [], _ row: (Row) throws(StoreError) -> T
  ) throws(StoreError) -> [T] {
    try connection.query(sql, values, row)
  }

  /// Runs a statement and maps its first row, if there is one. Rows after it are not read.
  /// - Parameters:
  ///   - sql: one statement.
  ///   - values: values of its `?`s, in order.
  ///   - row: makes a value of the row.
  public func first<T>(
    _ sql: String, _ values: [Value] = [], _ row: (Row) throws(StoreError) -> T
  ) throws(StoreError) -> T? {
    try connection.first(sql, values, row)
  }

  /// Whether the body's transaction still exists. A statement that fails for want of space or memory, or in reading the
  /// file, may end it (https://www.sqlite.org/lang_transaction.html); a body that catches its error then has to rethrow
  /// it.
  public var isInTransaction: Bool { connection.isInTransaction }

  /// Rows that were changed on this connection so far.
  public var totalChanges: Int { connection.totalChanges }

  /// The rowid of the row that was inserted last on this connection.
  public var lastInsertedRowID: Int { connection.lastInsertedRowID }
}
