/// One SQL statement with its values.
///
/// It is prepared once on each connection, by the text of its SQL: values belong into the `$1`s, not into the text.
public struct PostgreSQLStatement: Sendable, Hashable {
  /// One statement, with `$1`, `$2` … for its values.
  public var sql: String
  /// The values, in order.
  public var values: [PostgreSQLValue]
  /// The largest number of rows that its result may have. One more is ``StoreError/Code/tooLarge``.
  public var maxRows: Int
  /// Whether the server keeps it prepared. Turn it off for statements that run once, such as those of a schema.
  public var isPrepared: Bool

  public init(_ sql: String, _ values: [PostgreSQLValue] = [], maxRows: Int = 100_000, isPrepared: Bool = true) {
    self.sql = sql
    self.values = values
    self.maxRows = maxRows
    self.isPrepared = isPrepared
  }
}

extension PostgreSQLStatement: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self.init(value) }
}
