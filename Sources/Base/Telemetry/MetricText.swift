/// Pieces of the Prometheus text format, version 0.0.4.
enum MetricText {
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    if let whole = Int64(exactly: value) { return String(whole) }
    return String(value)
  }

  static func escapedHelp(_ text: String) -> String {
    escaped(text, quotes: false)
  }

  static func escapedLabel(_ text: String) -> String {
    escaped(text, quotes: true)
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`; a metric's name may also hold colons, which are reserved for recording rules.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return text.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F
    }
  }
}

/// The labels of a series as they are written: `{lane="twilio"}`, or nothing.
struct LabelText {
  private let pairs: String

  init(names: [String], values: [String]) {
    pairs = zip(names, values).map { "\($0)=\"\(MetricText.escapedLabel($1))\"" }.joined(separator: ",")
  }

  var text: String { pairs.isEmpty ? "" : "{\(pairs)}" }

  func adding(_ name: String, _ value: String) -> String {
    pairs.isEmpty ? "{\(name)=\"\(value)\"}" : "{\(pairs),\(name)=\"\(value)\"}"
  }
}
