/// Any JSON value: what is shown of a message whose shape is not known.
enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case text(String)
  case array([JSONValue])
  case object([String: JSONValue])
}

extension JSONValue: Codable {
  init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: AnyKey.self) {  // not an object: the next kind is tried
      self = .object(
        try Dictionary(
          object.allKeys.map { ($0.stringValue, try object.decode(JSONValue.self, forKey: $0)) },
          uniquingKeysWith: { first, _ in first }))
    } else if var array = try? decoder.unkeyedContainer() {  // as above
      var values: [JSONValue] = []
      while !array.isAtEnd { values.append(try array.decode(JSONValue.self)) }
      self = .array(values)
    } else {
      self = try Self.scalar(decoder.singleValueContainer())
    }
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
    if container.decodeNil() { return .null }
    // Each of these fails when the value is of another kind; the last one's error is the one to tell.
    if let value = try? container.decode(Bool.self) { return .bool(value) }
    if let value = try? container.decode(Int64.self) { return .integer(value) }
    if let value = try? container.decode(Double.self) { return .number(value) }
    return .text(try container.decode(String.self))
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let object):
      var container = encoder.container(keyedBy: AnyKey.self)
      for (key, value) in object { try container.encode(value, forKey: AnyKey(stringValue: key)) }
    case .array(let array):
      var container = encoder.unkeyedContainer()
      for value in array { try container.encode(value) }
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .bool(let value): try Self.encode(value, to: encoder)
    case .integer(let value): try Self.encode(value, to: encoder)
    case .number(let value): try Self.encode(value, to: encoder)
    case .text(let value): try Self.encode(value, to: encoder)
    }
  }

  private static func encode(_ value: some Encodable, to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}
