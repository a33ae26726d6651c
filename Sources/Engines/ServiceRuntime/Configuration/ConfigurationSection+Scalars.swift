import CountersignEncoding
import CountersignTelemetry

extension ConfigurationSection {
  /// A required text.
  /// - Parameters:
  ///   - key: the key in this section.
  ///   - help: its meaning; one sentence.
  public func string(_ key: String, _ help: String) -> String {
    declare(key, kind: "text, required", help)
    if let value = readString(key) { return value.isEmpty ? missing(key, help) : keeping(key, value) }
    if field(key) == nil { return missing(key, help) }
    return ""
  }

  /// A text with a default.
  public func string(_ key: String, default fallback: String, _ help: String) -> String {
    declare(key, kind: "text, default \(fallback.isEmpty ? "none" : fallback)", help)
    return keeping(key, readString(key) ?? fallback)
  }

  /// A text that may be absent.
  public func optionalString(_ key: String, _ help: String) -> String? {
    declare(key, kind: "text, optional", help)
    return readString(key)
  }

  /// A whole number.
  public func integer(_ key: String, default fallback: Int, in range: ClosedRange<Int>, _ help: String) -> Int {
    precondition(range.contains(fallback), "the default of \(key) is out of its range")
    let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    declare(key, kind: "\(expected), default \(fallback)", help)
    if let text = override(key) {
      guard let number = Int(text), range.contains(number) else { return wrong(key, expected, nil, fallback) }
      return number
    }
    guard let value = field(key) else { return fallback }
    guard let number = value.wholeNumber, range.contains(number) else {
      return wrong(key, expected, value, fallback)
    }
    return number
  }

  /// A whole number that may be absent.
  public func optionalInteger(_ key: String, in range: ClosedRange<Int>, _ help: String) -> Int? {
    if override(key) == nil && field(key) == nil {
      declare(key, kind: "a whole number from \(range.lowerBound) to \(range.upperBound), optional", help)
      return nil
    }
    return integer(key, default: range.lowerBound, in: range, help)
  }

  /// A number.
  public func number(
    _ key: String, default fallback: Double, in range: ClosedRange<Double>, _ help: String
  ) -> Double {
    precondition(range.contains(fallback), "the default of \(key) is out of its range")
    let expected = "a number from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))"
    declare(key, kind: "\(expected), default \(Self.text(fallback))", help)
    guard let value = readNumber(key, expected) else { return fallback }
    guard range.contains(value) else { return wrong(key, expected, nil, fallback) }
    return value
  }

  /// A duration, given as a number of seconds, which may have a fraction. The key should end in `Seconds`.
  public func seconds(
    _ key: String, default fallback: Duration, in range: ClosedRange<Duration>, _ help: String
  ) -> Duration {
    let seconds = number(
      key, default: fallback.fractionalSeconds,
      in: range.lowerBound.fractionalSeconds...range.upperBound.fractionalSeconds, help)
    return .milliseconds(Int64((seconds * 1000).rounded()))
  }

  /// True or false.
  public func bool(_ key: String, default fallback: Bool, _ help: String) -> Bool {
    declare(key, kind: "true or false, default \(fallback)", help)
    if let text = override(key) {
      switch text.lowercased() {
      case "true", "yes", "on", "1": return true
      case "false", "no", "off", "0": return false
      default: return wrong(key, "true or false", nil, fallback)
      }
    }
    guard let value = field(key) else { return fallback }
    guard case .bool(let flag) = value else { return wrong(key, "true or false", value, fallback) }
    return flag
  }

  /// One of a few words.
  public func word<Word: CaseIterable & RawRepresentable<String>>(
    _ key: String, default fallback: Word, _ help: String
  ) -> Word {
    let words = Word.allCases.map(\.rawValue)
    declare(key, kind: "\(words.joined(separator: " | ")), default \(fallback.rawValue)", help)
    guard let text = readString(key) else { return fallback }
    if let word = Word(rawValue: text) {
      reader.keep(text, for: Self.join(path, key))
      return word
    }
    let nearest = NearestName.of(text, among: words).map { " (did you mean \($0)?)" } ?? ""
    problem(key, "must be one of \(words.joined(separator: ", "))" + nearest)
    return fallback
  }

  /// Keeps what the doctor asks for of a text: the host of a URL, a lane's name.
  private func keeping(_ key: String, _ text: String) -> String {
    if let kept = key == "name" ? text : URLParts(text)?.base { reader.keep(kept, for: Self.join(path, key)) }
    return text
  }

  func readString(_ key: String) -> String? {
    if let text = override(key) { return text }
    guard let value = field(key) else { return nil }
    guard let text = value.text else {
      reportType(key, expected: "text", got: value)
      return nil
    }
    return text
  }

  private func readNumber(_ key: String, _ expected: String) -> Double? {
    if let text = override(key) { return Double(text) ?? wrong(key, expected, nil, nil) }
    guard let value = field(key) else { return nil }
    return value.double ?? wrong(key, expected, value, nil)
  }

  private func wrong<Value>(
    _ key: String, _ expected: String, _ value: JSONValue?, _ fallback: Value
  ) -> Value {
    switch value {
    case .integer, .number: reportType(key, expected: expected, got: nil)
    case let other: reportType(key, expected: expected, got: other)
    }
    return fallback
  }

  private func missing(_ key: String, _ help: String) -> String {
    reportMissing(key, help)
    return ""
  }

  private static func text(_ number: Double) -> String {
    Int(exactly: number).map(String.init) ?? String(number)
  }
}
