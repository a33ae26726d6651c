/// A value of a header table or an argument table (AMQP 0-9-1, section 4.2.5.5, with RabbitMQ's errata).
///
/// Integers of all widths are read as `int`, floats and decimals as `double`; an unsigned 64-bit integer beyond
/// `Int64.max` becomes a `double`.
public enum FieldValue: Sendable, Hashable {
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  /// Seconds since 1970-01-01 UTC.
  case timestamp(UInt64)
  case array([FieldValue])
  case table([String: FieldValue])
  case null

  /// The text, when it is a string.
  public var stringValue: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  /// The number, when it is an integer.
  public var intValue: Int64? {
    guard case .int(let value) = self else { return nil }
    return value
  }
}

extension FieldValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}
