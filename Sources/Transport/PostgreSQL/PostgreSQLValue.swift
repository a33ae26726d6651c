/// A value that is bound to a `$1` of a statement.
///
/// Integers go as `bigint`, texts as `text`, bytes as `bytea`, arrays as arrays of these; the server casts them to a
/// column's type where SQL allows it in an assignment. NULL has no type: where the statement does not tell it, write a
/// cast (`$1::bigint`).
public enum PostgreSQLValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A text without U+0000, which PostgreSQL cannot store: one with it is refused with
  /// ``StoreError/Code/content``.
  case text(String)
  case bytes([UInt8])
  case integers([Int64?])
  case texts([String?])
  case byteArrays([[UInt8]?])
}

extension PostgreSQLValue {
  /// An integer, or NULL for nil.
  public init(_ value: Int?) {
    self = value.map { .integer(Int64($0)) } ?? .null
  }

  /// An integer, or NULL for nil.
  public init(_ value: Int64?) {
    self = value.map { .integer($0) } ?? .null
  }

  /// A text, or NULL for nil.
  public init(_ value: String?) {
    self = value.map { .text($0) } ?? .null
  }

  /// Bytes, or NULL for nil.
  public init(_ value: [UInt8]?) {
    self = value.map { .bytes($0) } ?? .null
  }

  /// A truth value, or NULL for nil.
  public init(_ value: Bool?) {
    self = value.map { .bool($0) } ?? .null
  }
}

extension PostgreSQLValue: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension PostgreSQLValue: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self = .text(value) }
}

extension PostgreSQLValue: ExpressibleByBooleanLiteral {
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension PostgreSQLValue: ExpressibleByNilLiteral {
  public init(nilLiteral: ()) { self = .null }
}
