/// The header fields of a request or a response, in order. Names are compared without regard to case (RFC 9110, section
/// 5.1).
public struct HTTPServerHeaders: Sendable, ExpressibleByDictionaryLiteral {
  /// The fields as received or as they will be sent.
  public private(set) var fields: [(name: String, value: String)]

  /// No fields.
  public init() { fields = [] }

  /// The given fields, in order.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { (name: $0.0, value: $0.1) }
  }

  /// The value of the first field of that name.
  public subscript(_ name: String) -> String? {
    let wanted = name.utf8.map(Self.lowercase)
    return fields.first { $0.name.utf8.lazy.map(Self.lowercase).elementsEqual(wanted) }?.value
  }

  /// Appends a field. One of the same name stays.
  public mutating func add(name: String, value: String) {
    fields.append((name: name, value: value))
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}
