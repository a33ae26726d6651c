import CountersignAMQP
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials

/// Any JSON value, for messages of unknown shape.
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
    // Each of these fails if the value is of another kind; the last one's error is thrown.
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

extension JSONValue {
  /// JSON on one line, or indented, keys sorted.
  func json(indented: Bool = false) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if indented { encoder.outputFormatting.insert(.prettyPrinted) }
    // Only a number without a JSON form could fail, and no such number comes out of JSON.
    guard let data = try? encoder.encode(self) else { return "null" }
    return String(decoding: data, as: UTF8.self)
  }

  /// The JSON value of an encodable one; `null` if it cannot be encoded.
  init(encoding value: some Encodable) {
    // Every message of the contract can be encoded.
    guard let data = try? JSONEncoder().encode(value),
      let json = try? JSONReader.commandLine.decode(JSONValue.self, from: data)
    else {
      self = .null
      return
    }
    self = json
  }

  /// The object with a field added.
  func adding(_ name: String, _ value: JSONValue) -> JSONValue {
    guard case .object(var fields) = self else { return self }
    fields[name] = value
    return .object(fields)
  }

  static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.text) ?? .null }
}

extension JSONValue {
  init(_ value: FieldValue) {
    switch value {
    case .bool(let flag): self = .bool(flag)
    case .int(let number): self = .integer(number)
    case .double(let number): self = .number(number)
    case .string(let text): self = .text(text)
    case .bytes(let bytes): self = .text("\(bytes.count) bytes")
    case .timestamp(let seconds): self = .text(UnixTime(seconds: Int64(clamping: seconds)).rfc3339)
    case .array(let values): self = .array(values.map { JSONValue($0) })
    case .table(let fields): self = .object(fields.mapValues { JSONValue($0) })
    case .null: self = .null
    }
  }
}

extension JSONReader {
  /// Reads answers of the management API and of processes, and the operator's files; a list of queues may be long.
  static let commandLine = JSONReader(maxBytes: 16 << 20)
}

/// Key of an object whose keys are not known beforehand.
struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
