/// JSON value of unknown shape.
///
/// Numbers that are not whole, or too large for 64 bits, stay as written, so that none is too large to be read.
package enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(String)
  case text(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Members of an object. `nil` for any other value.
  package var members: [String: JSONValue]? {
    if case .object(let members) = self { members } else { nil }
  }

  package var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// A whole number in any of JSON's forms: `5`, `5.0`, `5e0`.
  package var wholeNumber: Int? {
    switch self {
    case .integer(let number): Int(exactly: number)
    case .number(let text): Int(text) ?? Double(text).flatMap { Int(exactly: $0) }
    default: nil
    }
  }

  /// A number. `nil` for any other value.
  package var double: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let text): Double(text)
    default: nil
    }
  }

  /// JSON, its keys sorted: on one line, or indented by two spaces a level.
  package func json(indented: Bool = false) -> String {
    var json: [UInt8] = []
    write(to: &json, indentation: indented ? "\n" : nil)
    return String(decoding: json, as: UTF8.self)
  }

  /// Indentation starts with the line feed. `nil` writes one line.
  private func write(to json: inout [UInt8], indentation: String?) {
    switch self {
    case .null: json += "null".utf8
    case .bool(let flag): json += "\(flag)".utf8
    case .integer(let number): json += "\(number)".utf8
    case .number(let text): json += text.utf8
    case .text(let text): JSONString.append(text, to: &json)
    case .array(let values):
      Self.write(values, between: "[]", to: &json, indentation) { $1.write(to: &$0, indentation: $2) }
    case .object(let members):
      Self.write(members.sorted { $0.key < $1.key }, between: "{}", to: &json, indentation) { json, member, inner in
        JSONString.append(member.key, to: &json)
        json += (inner == nil ? ":" : ": ").utf8
        member.value.write(to: &json, indentation: inner)
      }
    }
  }

  private static func write<Element>(
    _ elements: [Element], between brackets: String, to json: inout [UInt8], _ indentation: String?,
    _ write: (inout [UInt8], Element, _ indentation: String?) -> Void
  ) {
    let inner = indentation.map { $0 + "  " }
    json += brackets.utf8.prefix(1)
    for (index, element) in elements.enumerated() {
      json += ((index > 0 ? "," : "") + (inner ?? "")).utf8
      write(&json, element, inner)
    }
    if !elements.isEmpty, let indentation { json += indentation.utf8 }
    json += brackets.utf8.suffix(1)
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral text: String) { self = .text(text) }
  package init(integerLiteral number: Int64) { self = .integer(number) }
  package init(booleanLiteral flag: Bool) { self = .bool(flag) }
  package init(arrayLiteral values: JSONValue...) { self = .array(values) }
  package init(dictionaryLiteral fields: (String, JSONValue)...) {
    self = .object(Dictionary(fields, uniquingKeysWith: { _, last in last }))
  }
}
