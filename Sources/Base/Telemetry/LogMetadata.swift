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

  /// The value of a key; of the last one when the key stands twice.
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
