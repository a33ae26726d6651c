/// A value that SQLite stores or that is bound to a `?` of a statement.
public enum Value: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

extension Value {
  /// An integer, or NULL for nil.
  public init(_ value: Int?) {
    self = value.map { .integer(Int64($0)) } ?? .null
  }

  /// An integer, or NULL for nil.
  public init(_ value: Int64?) {
    self = value.map { .integer($0) } ?? .null
  }

  /// A floating-point number, or NULL for nil.
  public init(_ value: Double?) {
    self = value.map { .real($0) } ?? .null
  }

  /// A text, or NULL for nil.
  public init(_ value: String?) {
    self = value.map { .text($0) } ?? .null
  }

  /// Bytes, or NULL for nil.
  public init(_ value: [UInt8]?) {
    self = value.map { .blob($0) } ?? .null
  }

  /// 1 or 0, or NULL for nil: SQLite has no type of its own for truth values.
  public init(_ value: Bool?) {
    self = value.map { .integer($0 ? 1 : 0) } ?? .null
  }
}

extension Value: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Value: ExpressibleByFloatLiteral {
  public init(floatLiteral value: Double) { self = .real(value) }
}

extension Value: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self = .text(value) }
}

extension Value: ExpressibleByBooleanLiteral {
  public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
}

extension Value: ExpressibleByNilLiteral {
  public init(nilLiteral: ()) { self = .null }
}
