import CountersignEncoding

extension ConfigurationSection {
  /// The section under a key. An empty one when it is absent, so that its own defaults and required keys apply.
  public func section(_ key: String) -> ConfigurationSection {
    declare(key)
    let full = Self.join(path, key)
    guard let value = field(key) else { return ConfigurationSection(reader: reader, path: full, fields: [:]) }
    guard case .object(let fields) = value else {
      reportType(key, expected: "a section { … }", got: value)
      return ConfigurationSection(reader: reader, path: full, fields: [:])
    }
    return ConfigurationSection(reader: reader, path: full, fields: fields)
  }

  /// The section under a key, or `nil` when it is absent and no variable of the environment reaches into it.
  public func optionalSection(_ key: String) -> ConfigurationSection? {
    let prefix = ConfigurationKey.variable(for: Self.join(path, key)) + "_"
    if field(key) == nil, !reader.environment.keys.contains(where: { $0.hasPrefix(prefix) }) {
      declare(key)
      return nil
    }
    return section(key)
  }

  /// Sections under names that the operator chooses (`lanes: { "twilio-eu": { … } }`), sorted by name.
  public func namedSections(_ key: String, _ help: String) -> [(name: String, section: ConfigurationSection)] {
    declare(key, kind: "sections by name", help)
    let all = section(key)
    guard case .object(let fields)? = field(key) else { return [] }
    return fields.keys.sorted().map { name in (name: name, section: all.section(name)) }
  }

  /// A list of sections (`lanes: [ { … }, { … } ]`), in its order.
  public func sections(_ key: String, _ help: String) -> [ConfigurationSection] {
    declare(key, kind: "list of sections", help)
    guard let value = field(key) else { return [] }
    guard case .array(let elements) = value else {
      reportType(key, expected: "a list of sections [ { … } ]", got: value)
      return []
    }
    return elements.enumerated().compactMap { index, element in
      let place = "\(key).\(index)"
      guard case .object(let fields) = element else {
        reportType(place, expected: "a section { … }", got: element)
        return nil
      }
      return ConfigurationSection(reader: reader, path: Self.join(path, place), fields: fields)
    }
  }

  /// A list of texts. In the environment separated by commas.
  public func strings(_ key: String, default fallback: [String] = [], _ help: String) -> [String] {
    let text = fallback.isEmpty ? "empty" : fallback.joined(separator: ", ")
    declare(key, kind: "list of texts, default \(text)", help)
    if let text = override(key) {
      return text.split(separator: ",").map { String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
    }
    return elements(key, expected: "text", fallback) { $0.text }
  }

  /// A list of whole numbers.
  public func integers(
    _ key: String, default fallback: [Int], in range: ClosedRange<Int>, _ help: String
  ) -> [Int] {
    let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    declare(key, kind: "list, each \(expected), default \(fallback)", help)
    return elements(key, expected: expected, fallback) {
      $0.wholeNumber.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// Texts under names that the operator chooses. A default is replaced as a whole.
  public func stringMap(_ key: String, default fallback: [String: String] = [:], _ help: String) -> [String: String] {
    declare(key, kind: "texts by name", help)
    return map(key, expected: "text", fallback) { $0.text }
  }

  /// Whole numbers under names that the operator chooses. A default is replaced as a whole.
  public func integerMap(
    _ key: String, default fallback: [String: Int] = [:], in range: ClosedRange<Int>, _ help: String
  ) -> [String: Int] {
    let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    declare(key, kind: "by name, each \(expected)", help)
    return map(key, expected: expected, fallback) {
      $0.wholeNumber.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// True or false under names that the operator chooses.
  public func boolMap(_ key: String, _ help: String) -> [String: Bool] {
    declare(key, kind: "true or false by name", help)
    return map(key, expected: "true or false", [:]) {
      if case .bool(let flag) = $0 { flag } else { nil }
    }
  }

  private func elements<Element>(
    _ key: String, expected: String, _ fallback: [Element], _ read: (JSONValue) -> Element?
  ) -> [Element] {
    guard let value = field(key) else { return fallback }
    guard case .array(let values) = value else {
      reportType(key, expected: "a list", got: value)
      return fallback
    }
    return values.enumerated().compactMap { index, element in
      if let element = read(element) { return element }
      reportType("\(key).\(index)", expected: expected, got: nil)
      return nil
    }
  }

  private func map<Element>(
    _ key: String, expected: String, _ fallback: [String: Element], _ read: (JSONValue) -> Element?
  ) -> [String: Element] {
    guard let value = field(key) else { return fallback }
    guard case .object(let fields) = value else {
      reportType(key, expected: "a section { name: … }", got: value)
      return fallback
    }
    var result: [String: Element] = [:]
    for (name, value) in fields {
      result[name] = read(value)
      if result[name] == nil { reportType("\(key).\(name)", expected: expected, got: nil) }
    }
    return result
  }
}
