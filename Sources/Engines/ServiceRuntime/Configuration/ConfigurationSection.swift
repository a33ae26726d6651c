import CountersignEncoding

/// One section of a configuration, from which a configuration reads its values.
///
/// Values come from the environment, else from the file, else from the default. A wrong or missing value is reported to
/// the operator together with all others, and a placeholder is returned meanwhile: reading never stops at the first
/// problem.
public struct ConfigurationSection {
  let reader: ConfigurationReader
  /// The path of the section from the top. Empty for the top.
  public let path: String
  private let fields: [String: JSONValue]

  init(reader: ConfigurationReader, path: String, fields: [String: JSONValue]) {
    self.reader = reader
    self.path = path
    self.fields = fields
    reader.open(section: path, with: fields.keys)
  }

  /// Reports that a value is wrong, for rules beyond those of the readers.
  /// - Parameters:
  ///   - key: the key in this section.
  ///   - text: the problem and its fix; must not contain the value.
  public func problem(_ key: String, _ text: String) {
    reader.report(Self.join(path, key), text)
  }

  /// Reports a value that is allowed but probably unintended.
  public func warning(_ key: String, _ text: String) {
    reader.warn(Self.join(path, key), text)
  }

  /// Reports that `type` is none of the valid ones, and accepts the section's other keys: only the type says which there
  /// may be.
  public func unknownType(valid names: String) {
    problem("type", "must be one of \(names)")
    acceptOthers()
  }

  /// Accepts the section's other keys, which another process reads.
  public func acceptOthers() {
    for name in fields.keys { declare(name) }
  }

  /// Accepts a key that another process reads, whatever its value is.
  public func accept(_ key: String) { declare(key) }

  /// Whether a key has a value, valid or not: for groups of keys of which one is required.
  public func isGiven(_ key: String) -> Bool { override(key) != nil || field(key) != nil }

  static func join(_ path: String, _ key: String) -> String {
    path.isEmpty ? key : "\(path).\(key)"
  }

  /// Makes a key known, without listing it.
  func declare(_ key: String) {
    reader.declare(key, in: path, nil)
  }

  func declare(_ key: String, kind: String, _ help: String) {
    reader.declare(
      key, in: path, ConfigurationKey(path: Self.join(path, key), kind: kind, help: help))
  }

  func override(_ key: String) -> String? {
    reader.variable(ConfigurationKey.variable(for: Self.join(path, key)))
  }

  /// Null counts as absent.
  func field(_ key: String) -> JSONValue? {
    fields[key].flatMap { $0 == .null ? nil : $0 }
  }

  func reportMissing(_ key: String, _ help: String) {
    let full = Self.join(path, key)
    let place = reader.file.map { "in \($0.path)" } ?? "in a file given with --config"
    reader.report(
      full, "is required: \(help) Set it \(place) or as \(ConfigurationKey.variable(for: full)).")
  }

  func reportType(_ key: String, expected: String, got value: JSONValue?) {
    problem(key, "must be \(expected)" + (value.map { ", not \($0.kind)" } ?? ""))
  }
}
