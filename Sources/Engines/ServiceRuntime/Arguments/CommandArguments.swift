/// The parsed arguments of a command.
public struct CommandArguments: Sendable {
  /// The names of the subcommands, from the outside in. Empty for a program without subcommands.
  public internal(set) var command: [String] = []
  var options: [String: [String]] = [:]
  var operands: [String: [String]] = [:]

  /// Whether a flag was given.
  public func flag(_ name: String) -> Bool {
    options[name] != nil
  }

  /// The value of an option. The last one when it was given more than once.
  public func value(_ name: String) -> String? {
    options[name]?.last
  }

  /// All values of an option.
  public func values(_ name: String) -> [String] {
    options[name] ?? []
  }

  /// An operand that may be omitted.
  public subscript(operand: String) -> String? {
    operands[operand]?.first
  }

  /// An operand that the syntax requires.
  public func operand(_ name: String) throws(UsageError) -> String {
    guard let text = operands[name]?.first else { throw UsageError("\(name) is missing") }
    return text
  }

  /// All values of an operand that repeats.
  public func operands(_ name: String) -> [String] {
    operands[name] ?? []
  }

  /// The value of an option as a whole number.
  /// - Throws: an error when it is not a number, or out of range.
  public func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError("--\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// The value of an option as a duration: `500ms`, `30s`, `2m`, `1h`, or seconds without a unit.
  /// - Throws: an error when it is not a duration, or negative.
  public func duration(_ name: String) throws(UsageError) -> Duration? {
    guard let text = value(name) else { return nil }
    guard let duration = Self.duration(text) else {
      throw UsageError("--\(name) must be a duration such as 500ms, 30s, 2m or 1h")
    }
    return duration
  }

  /// The value of an option that is one of a few words.
  /// - Throws: an error when it is none of them, with the nearest.
  public func word<Word: CaseIterable & RawRepresentable<String>>(
    _ name: String, as type: Word.Type = Word.self
  ) throws(UsageError) -> Word? {
    guard let text = value(name) else { return nil }
    if let word = Word(rawValue: text) { return word }
    let words = Word.allCases.map(\.rawValue)
    let suggestion = NearestName.of(text, among: words).map { " (did you mean \($0)?)" } ?? ""
    throw UsageError("--\(name) must be one of \(words.joined(separator: ", "))\(suggestion)")
  }

  private static let units: [(suffix: String, milliseconds: Double)] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// A year. A longer value is a mistake.
  private static let maxMilliseconds = 366 * 86_400_000.0

  /// A duration: `500ms`, `30s`, `2m`, `1h`, `7d`, or seconds without a unit. `nil` for any other text, and for one of
  /// more than a year.
  public static func duration(_ text: String) -> Duration? {
    let unit = units.first { text.hasSuffix($0.suffix) }
    guard let number = Double(text.dropLast(unit?.suffix.count ?? 0)), number >= 0 else { return nil }
    let milliseconds = number * (unit?.milliseconds ?? 1000)
    guard milliseconds <= maxMilliseconds else { return nil }
    return .milliseconds(Int64(milliseconds.rounded()))
  }
}

/// The arguments are wrong. The process ends with ``ExitCode/usage``.
public struct UsageError: ExitingError, Hashable {
  /// The problem and its fix: `unknown option --jsn (did you mean --json?)`.
  public let message: String

  public init(_ message: String) {
    self.message = message
  }

  public var exitCode: ExitCode { .usage }
  public var description: String { message }
  /// The same arguments fail again.
  public var isRetriable: Bool { false }
}
