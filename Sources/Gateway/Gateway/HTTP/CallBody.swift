import CountersignEncoding

/// Fields of a call: of its JSON object, its form, or its query.
///
/// Names are given in camelCase and found in either spelling. `null` counts as absent. A value of a wrong type is a
/// ``ProtocolError`` that names the field and not the value.
struct CallBody: Sendable, Hashable {
  private let fields: [String: JSONValue]
  /// Path of this object from the top, with a dot at its end. Empty for the top.
  private let path: String

  static let empty = CallBody([:])

  init(_ fields: [String: JSONValue], path: String = "") {
    self.fields = fields
    self.path = path
  }

  /// - Parameter asSpelled: whether names count as they are, so that snake_case is another field.
  init(json: [UInt8], _ limits: BodyLimits = .usual, asSpelled: Bool = false) throws(ProtocolError) {
    guard json.count <= limits.bytes else { throw .bodyTooLarge(limits) }
    // The protocol takes no body for an empty one.
    guard json.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
      self.init([:])
      return
    }
    let value: JSONValue
    do throws(JSONRefusal) {
      value = try JSONReader(maxBytes: limits.bytes, maxDepth: CallLimits.maxDepth, maxValues: limits.values)
        .value(of: json)
    } catch {
      throw .badBody("The body \(error).")
    }
    guard let fields = value.members else { throw .badBody("The body must be an object.") }
    self.init(asSpelled ? fields : try FieldSpelling.camelCase(fields))
  }

  /// Reads a form (`application/x-www-form-urlencoded`).
  init(form: [UInt8]) throws(ProtocolError) {
    guard form.count <= CallLimits.maxBodyBytes else { throw .bodyTooLarge }
    try self.init(encoded: form, maxFields: CallLimits.maxFormFields)
  }

  init(encoded: some Collection<UInt8>, maxFields: Int) throws(ProtocolError) {
    guard encoded.lazy.filter({ $0 == UInt8(ascii: "&") }).count < maxFields else {
      throw .badBody("There are more than \(maxFields) fields.")
    }
    var fields: [String: JSONValue] = [:]
    for (name, value) in FormEncoding.decode(encoded) where !name.isEmpty {
      guard !value.unicodeScalars.contains("\0") else { throw .badBody("A text holds NUL.") }
      let known = fields.updateValue(.text(value), forKey: FieldSpelling.camelCase(name))
      // The first one counts in queries; the same secret twice in a form is nonsense, but harmless.
      if let known { fields[FieldSpelling.camelCase(name)] = known }
    }
    self.init(fields)
  }

  /// Names of all fields, those of `null` included.
  var names: Set<String> { Set(fields.keys) }

  /// A field's path from the top.
  func place(of name: String) -> String { path + name }

  func has(_ name: String) -> Bool { value(name) != nil }

  /// A text. `nil` when it is absent or empty, which the protocol does not distinguish.
  func text(_ name: String) throws(ProtocolError) -> String? {
    guard let text = try anyText(name), !text.isEmpty else { return nil }
    return text
  }

  /// A text, which may be empty. `nil` when it is absent.
  func anyText(_ name: String) throws(ProtocolError) -> String? {
    switch value(name) {
    case nil: return nil
    case .text(let text): return text
    default: throw .badField(path + name, expected: "text")
    }
  }

  /// True or false, also as text. `nil` when it is absent.
  func bool(_ name: String) throws(ProtocolError) -> Bool? {
    switch value(name) {
    case nil, .text(""): return nil
    case .bool(let flag): return flag
    case .text("true"): return true
    case .text("false"): return false
    default: throw .badField(path + name, expected: "true or false")
    }
  }

  /// A whole number, also as text. `nil` when it is absent.
  func integer(_ name: String) throws(ProtocolError) -> Int? {
    guard let value = value(name), value != .text("") else { return nil }
    guard let number = Self.whole(value) else { throw .badField(path + name, expected: "a whole number") }
    return number
  }

  /// Name of an enumeration's case, given by name or by number, the latter also as text. `nil` when it is absent.
  func enumeration(_ name: String, _ names: [String]) throws(ProtocolError) -> String? {
    guard let value = value(name), value != .text("") else { return nil }
    return try Self.word(value, names, at: path + name)
  }

  func enumerations(_ name: String, _ names: [String]) throws(ProtocolError) -> [String] {
    var words: [String] = []
    for value in try list(name) { words.append(try Self.word(value, names, at: path + name)) }
    return words
  }

  func object(_ name: String) throws(ProtocolError) -> CallBody? {
    switch value(name) {
    case nil: return nil
    case .object(let fields): return CallBody(fields, path: "\(path)\(name).")
    default: throw .badField(path + name, expected: "an object")
    }
  }

  /// Objects of a list, each with its place in the path of its errors: `users[3].`.
  func objects(_ name: String) throws(ProtocolError) -> [CallBody] {
    var objects: [CallBody] = []
    for (index, value) in try list(name).enumerated() {
      guard let fields = value.members else { throw .badField(path + name, expected: "a list of objects") }
      objects.append(CallBody(fields, path: "\(path)\(name)[\(index)]."))
    }
    return objects
  }

  func texts(_ name: String) throws(ProtocolError) -> [String] {
    var texts: [String] = []
    for value in try list(name) {
      guard case .text(let text) = value else { throw .badField(path + name, expected: "a list of texts") }
      texts.append(text)
    }
    return texts
  }

  /// An object of texts, also as JSON text. `nil` when it is absent.
  func textMap(_ name: String) throws(ProtocolError) -> [String: String]? {
    let fields: [String: JSONValue]?
    switch value(name) {
    case nil, .text(""): return nil
    case .text(let text): fields = Self.members(text)
    case .some(let value): fields = value.members
    }
    let texts = fields?.compactMapValues(\.text)
    guard let texts, texts.count == fields?.count else { throw .badField(path + name, expected: "an object of texts") }
    return texts
  }

  private static func members(_ text: String) -> [String: JSONValue]? {
    let reader = JSONReader(
      maxBytes: CallLimits.maxBodyBytes, maxDepth: CallLimits.maxDepth, maxValues: CallLimits.maxValues)
    return try? reader.value(of: Array(text.utf8)).members
  }

  private func list(_ name: String) throws(ProtocolError) -> [JSONValue] {
    switch value(name) {
    case nil: return []
    case .array(let values): return values
    default: throw .badField(path + name, expected: "a list")
    }
  }

  private func value(_ name: String) -> JSONValue? {
    fields[name].flatMap { $0 == .null ? nil : $0 }
  }

  private static func word(_ value: JSONValue, _ names: [String], at path: String) throws(ProtocolError) -> String {
    if let text = value.text, names.contains(text) { return text }
    if let number = whole(value), names.indices.contains(number) { return names[number] }
    throw .badField(path, expected: "one of \(names.joined(separator: ", "))")
  }

  private static func whole(_ value: JSONValue) -> Int? {
    value.wholeNumber ?? value.text.flatMap { JSONValue.number($0).wholeNumber }
  }
}
