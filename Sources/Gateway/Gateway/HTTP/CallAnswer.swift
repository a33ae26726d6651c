import CountersignEncoding

/// Answer of a call: one JSON object, `{}` at least.
///
/// Clients test the presence of fields, so a writer leaves out what is not so: a `nil` puts nothing.
struct CallAnswer: Sendable {
  /// Seconds for which anyone may cache the answer; `nil`: nobody may.
  var maxAge: Int?
  private var fields: [UInt8] = []

  init() {}

  var json: [UInt8] { [UInt8(ascii: "{")] + fields + [UInt8(ascii: "}")] }

  mutating func put(_ name: String, _ text: String?) {
    guard let text else { return }
    key(name)
    JSONString.append(text, to: &fields)
  }

  mutating func put(_ name: String, _ flag: Bool) {
    put(name, literal: flag ? "true" : "false")
  }

  /// Puts `true`; leaves out `false`.
  mutating func put(_ name: String, ifSo flag: Bool?) {
    if flag == true { put(name, literal: "true") }
  }

  mutating func put(_ name: String, number: Int?) {
    if let number { put(name, literal: String(number)) }
  }

  /// Puts a number as text, as the protocol has int64.
  mutating func put(_ name: String, asText number: (some BinaryInteger & LosslessStringConvertible)?) {
    if let number { put(name, String(number)) }
  }

  mutating func put(_ name: String, object: CallAnswer?) {
    guard let object else { return }
    key(name)
    fields += object.json
  }

  /// Leaves out an empty list, unless it is to be there all the same.
  mutating func put(_ name: String, objects: [CallAnswer], evenIfEmpty: Bool = false) {
    if objects.isEmpty, evenIfEmpty { return put(name, literal: "[]") }
    put(name, list: objects.map(\.json))
  }

  mutating func put(_ name: String, texts: [String]) {
    put(name, list: texts.map { Array(JSONString.quote($0).utf8) })
  }

  private mutating func put(_ name: String, list: [[UInt8]]) {
    guard !list.isEmpty else { return }
    key(name)
    fields.append(UInt8(ascii: "["))
    fields += list.joined(separator: [UInt8(ascii: ",")])
    fields.append(UInt8(ascii: "]"))
  }

  private mutating func put(_ name: String, literal: String) {
    key(name)
    fields += literal.utf8
  }

  private mutating func key(_ name: String) {
    if !fields.isEmpty { fields.append(UInt8(ascii: ",")) }
    JSONString.append(name, to: &fields)
    fields.append(UInt8(ascii: ":"))
  }
}
