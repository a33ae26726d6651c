import SQLite

/// Inserts rows into one table, many with each statement: a statement costs as much as a row or two.
struct BulkInsert {
  /// Rows of one statement. There are two statements for each table, this one and that of a single row.
  static let chunk = 32

  let one: String
  let many: String
  private let columns: Int

  /// - Parameters:
  ///   - table: the table and the names of its columns.
  ///   - columns: number of the columns.
  ///   - tail: treatment of rows that are there already.
  init(_ table: String, columns: Int, _ tail: String = "") {
    let row = "(" + Array(repeating: "?", count: columns).joined(separator: ", ") + ")"
    // SQLite takes ON CONFLICT behind a list of rows as it does behind one.
    one = "INSERT INTO \(table) VALUES \(row) \(tail)"
    many = "INSERT INTO \(table) VALUES \(Array(repeating: row, count: Self.chunk).joined(separator: ", ")) \(tail)"
    self.columns = columns
  }

  /// - Parameters:
  ///   - rows: rows to insert, in order.
  ///   - append: appends the values of a row.
  /// - Returns: the number of rows that were inserted or changed.
  @discardableResult
  func run<Row>(
    _ rows: [Row], _ session: StoreSession, _ append: (Row, inout [Value]) -> Void
  ) throws(StoreError) -> Int {
    var done = 0
    var next = 0
    var values: [Value] = []
    values.reserveCapacity(columns * min(rows.count, Self.chunk))
    while next < rows.count {
      let count = rows.count - next >= Self.chunk ? Self.chunk : 1
      values.removeAll(keepingCapacity: true)
      for row in rows[next..<(next + count)] { append(row, &values) }
      done += try session.execute(count == 1 ? one : many, values)
      next += count
    }
    return done
  }
}
