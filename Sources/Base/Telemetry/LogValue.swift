/// A value in a log event.
public enum LogValue: Sendable, Hashable {
  case string(String)
  case integer(Int64)
  case number(Double)
  case bool(Bool)
  case null
}

/// A value in a log event. ``Secret`` does not conform, on purpose.
public protocol LogValueConvertible {
  /// The value as it is logged.
  var logValue: LogValue { get }
}

extension LogValue: LogValueConvertible {
  public var logValue: LogValue { self }
}

extension String: LogValueConvertible {
  public var logValue: LogValue { .string(self) }
}

extension Substring: LogValueConvertible {
  public var logValue: LogValue { .string(String(self)) }
}

extension StaticString: LogValueConvertible {
  public var logValue: LogValue { .string(description) }
}

extension Bool: LogValueConvertible {
  public var logValue: LogValue { .bool(self) }
}

extension Double: LogValueConvertible {
  public var logValue: LogValue { .number(self) }
}

extension Int: LogValueConvertible {
  public var logValue: LogValue { .integer(Int64(self)) }
}

extension Int32: LogValueConvertible {
  public var logValue: LogValue { .integer(Int64(self)) }
}

extension Int64: LogValueConvertible {
  public var logValue: LogValue { .integer(self) }
}

extension UInt16: LogValueConvertible {
  public var logValue: LogValue { .integer(Int64(self)) }
}

extension UInt64: LogValueConvertible {
  public var logValue: LogValue { .integer(Int64(clamping: self)) }
}

extension UnixTime: LogValueConvertible {
  public var logValue: LogValue { .string(rfc3339WithMilliseconds) }
}

/// A duration is logged in seconds, with milliseconds.
extension Duration: LogValueConvertible {
  public var logValue: LogValue { .number(Double(wholeMilliseconds) / 1000) }
}

/// `nil` leaves the key out of the event.
extension Optional: LogValueConvertible where Wrapped: LogValueConvertible {
  public var logValue: LogValue { self?.logValue ?? .null }
}

extension Array: LogValueConvertible where Element == String {
  public var logValue: LogValue { .string(joined(separator: ", ")) }
}
