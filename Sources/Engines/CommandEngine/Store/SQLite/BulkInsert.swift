import SQLite

/// Inserts rows into one table, many with each statement: a statement costs as much as a row or two.
struct BulkInsert {
  /// Rows of one statement, of which there are three for each table.
  static let chunks = [32, 8, 1]

  /// A statement for each of ``chunks``.
  let statements: [String]
  private let columns: Int

  /// - Parameters:
  ///   - table: the table and the names of its columns.
  ///   - columns: number of the columns.
  ///   - tail: treatment of rows that are there already.
  init(_ table: String, columns: Int, _ tail: String = "") {
    let row = "(" + Array(repeating: "?", count: columns).joined(separator: ", ") + ")"
    // SQLite takes ON CONFLICT behind a list of rows as it does behind one.
    statements = Self.chunks.map {
      "INSERT INTO \(table) VALUES \(Array(repeating: row, count: $0).joined(separator: ", ")) \(tail)"
    }
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
    values.reserveCapacity(columns * min(rows.count, Self.chunks[0]))
    for (count, statement) in zip(Self.chunks, statements) {
      while rows.count - next >= count {
        values.removeAll(keepingCapacity: true)
        for row in rows[next..<(next + count)] { append(row, &values) }
        done += try session.execute(statement, values)
        next += count
      }
    }
    return done
  }
}
