/// The values of a log event, in the order in which they were written.
public struct LogMetadata: Sendable, ExpressibleByDictionaryLiteral {
  private(set) var pairs: [(key: LogKey, value: LogValue)]

  /// No values.
  public init() {
    pairs = []
  }

  public init(dictionaryLiteral elements: (LogKey, any LogValueConvertible)...) {
    pairs = elements.map { (key: $0.0, value: $0.1.logValue) }
  }

  /// The value of a key. Of the last one when the key stands twice.
  public subscript(key: LogKey) -> LogValue? {
    pairs.last { $0.key == key }?.value
  }

  /// Adds a value at the end.
  public mutating func append(_ key: LogKey, _ value: some LogValueConvertible) {
    pairs.append((key: key, value: value.logValue))
  }

  /// Both, the receiver's values first.
  public func appending(_ other: LogMetadata) -> LogMetadata {
    var result = self
    result.pairs.append(contentsOf: other.pairs)
    return result
  }
}

/// The name of a value in a log event: lower case, words of one thing joined by dots (`job.id`).
///
/// Names that more than one module uses are constants here, so that one search finds a job in the logs of all
/// processes.
public struct LogKey: Sendable, Hashable, ExpressibleByStringLiteral {
  public let name: String

  public init(_ name: String) {
    self.name = name
  }

  public init(stringLiteral value: String) {
    name = value
  }

  public static let jobID: LogKey = "job.id"
  public static let messageID: LogKey = "message.id"
  public static let messageType: LogKey = "message.type"
  public static let correlationID: LogKey = "correlation.id"
  public static let verificationID: LogKey = "verification.id"
  public static let operationID: LogKey = "operation.id"
  public static let traceID: LogKey = "trace.id"
  public static let queue: LogKey = "queue"
  public static let exchange: LogKey = "exchange"
  public static let routingKey: LogKey = "routing_key"
  public static let lane: LogKey = "lane"
  public static let attempt: LogKey = "attempt"
  public static let outcome: LogKey = "outcome"
  public static let reason: LogKey = "reason"
  public static let app: LogKey = "app"
  public static let service: LogKey = "service"
  public static let error: LogKey = "error"
  /// Hint for the reader: how to fix the cause.
  public static let hint: LogKey = "hint"
  public static let retryIn: LogKey = "retry.in"
  public static let count: LogKey = "count"
  public static let duration: LogKey = "duration"
}

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
