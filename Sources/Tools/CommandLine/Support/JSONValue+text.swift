internal import CountersignEncoding
internal import FoundationEssentials

extension JSONValue {
  /// JSON on one line, or indented, keys sorted.
  func json(indented: Bool = false) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if indented { encoder.outputFormatting.insert(.prettyPrinted) }
    // Only a number that JSON has no form for could fail, and none comes out of JSON.
    guard let data = try? encoder.encode(self) else { return "null" }
    return String(decoding: data, as: UTF8.self)
  }

  /// The value of something that can be written as JSON; `null` when it cannot.
  init(encoding value: some Encodable) {
    // What a message of the contract holds can always be written; anything else shows as null.
    guard let data = try? JSONEncoder().encode(value),
      let json = try? JSONReader.operations.decode(JSONValue.self, from: data)
    else {
      self = .null
      return
    }
    self = json
  }

  /// The object with one field more.
  func adding(_ name: String, _ value: JSONValue) -> JSONValue {
    guard case .object(var fields) = self else { return self }
    fields[name] = value
    return .object(fields)
  }

  /// A text, or `null`.
  static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.text) ?? .null }
}
