import CountersignEncoding

/// A JSON value, to compare answers with.
enum JSONValue: Sendable, Hashable, Decodable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  init(_ json: [UInt8]) throws {
    self = try JSONReader(maxBytes: 1 << 20).decode(JSONValue.self, from: json)
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .bool(flag)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let values = try? container.decode([JSONValue].self) {
      self = .list(values)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  subscript(name: String) -> JSONValue? {
    if case .object(let fields) = self { fields[name] } else { nil }
  }

  subscript(index: Int) -> JSONValue? {
    if case .list(let values) = self, values.indices.contains(index) { values[index] } else { nil }
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }

  var names: Set<String> { if case .object(let fields) = self { Set(fields.keys) } else { [] } }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  init(stringLiteral text: String) { self = .text(text) }
  init(booleanLiteral flag: Bool) { self = .bool(flag) }
  init(arrayLiteral values: JSONValue...) { self = .list(values) }
  init(dictionaryLiteral fields: (String, JSONValue)...) {
    self = .object(Dictionary(fields, uniquingKeysWith: { _, last in last }))
  }
}
