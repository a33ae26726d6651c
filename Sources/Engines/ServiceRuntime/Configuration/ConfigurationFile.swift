import CountersignEncoding

/// A configuration file: JSON5, so that it may contain comments.
struct ConfigurationFile {
  let path: String
  let fields: [String: JSONValue]

  /// Maximum size of a configuration file. A larger one is a mistake.
  static let maxBytes = 1 << 20

  init(path: String) throws(ConfigurationError) {
    try self.init(path: path, bytes: Self.read(path))
  }

  init(path: String, bytes: [UInt8]) throws(ConfigurationError) {
    self.path = path
    let value: JSONValue
    do throws(JSONRefusal) { value = try Self.reader.value(of: bytes) } catch {
      throw ConfigurationError([Self.problem(path, error)])
    }
    guard let fields = value.members else {
      throw ConfigurationError([ConfigurationProblem(path, "must hold one section: { … }")])
    }
    self.fields = fields
  }

  /// Blocks.
  static func read(_ path: String) throws(ConfigurationError) -> [UInt8] {
    do {
      return try LocalFile.read(path, maxBytes: maxBytes).bytes
    } catch {
      throw ConfigurationError([
        ConfigurationProblem("configuration", error.description, isPermission: error.isPermission)
      ])
    }
  }

  private static let reader = JSONReader(maxBytes: maxBytes, syntax: .json5)

  private static func problem(_ path: String, _ refusal: JSONRefusal) -> ConfigurationProblem {
    switch refusal {
    case .malformed(let line): ConfigurationProblem("\(path):\(line)", "this line is not valid JSON5")
    case .repeatedName(let line): ConfigurationProblem("\(path):\(line)", "this key is in its section twice")
    default: ConfigurationProblem(path, "the file \(refusal)")
    }
  }
}

extension JSONValue {
  /// Its type, for a message about the expected one. Never the value, which may be a secret.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .number: "a number"
    case .text: "text"
    case .array: "a list"
    case .object: "a section"
    }
  }
}
