/// Finds text that a phone or a reader takes for a link. Verification messages have none: users who are used to links
/// follow the next one too. Their only domain is that of the last line, which the worker writes.
enum LinkLinter {
  /// Minimum length of a number that a reader might call, or mistake for the code.
  static let fewestDigitsOfNumber = 4

  static func problems(_ text: SMSTemplateText) -> [String] {
    let scalars = Array(text.skeleton.unicodeScalars)
    let lower = text.skeleton.lowercased()
    var problems: [String] = []
    if ["://", "www.", "http", "hxxp"].contains(where: lower.contains) { problems.append("has a link") }
    if let place = scalars.indices.first(where: { isDomain(scalars, $0) }) {
      problems.append(
        "has '\(readable(word(scalars, place)))', which phones turn into a link: put a space after the full stop, or omit the domain"
      )
    }
    if scalars.contains(where: { ["@", "\u{FF20}", "\u{FE6B}"].contains($0) }) {
      problems.append("has an @, which begins the last line that phones read, or an address")
    }
    if digits(scalars) >= fewestDigitsOfNumber { problems.append("has a number beside the code") }
    return problems
  }

  /// Whether there is a dot of a domain or an IP address at a place: between letters or digits, with two of them after
  /// it.
  private static func isDomain(_ scalars: [Unicode.Scalar], _ place: Int) -> Bool {
    guard dots.contains(scalars[place]), place > 0, place + 2 < scalars.count else { return false }
    let before = scalars[place - 1]
    let behind = scalars[place + 1]
    if scalars[place] != ".", !before.isASCII || !behind.isASCII { return false }
    guard isLabel(before), isLabel(behind) else { return false }
    // One letter after the dot is an abbreviation, z.B.
    return isLabel(scalars[place + 2]) || behind == SMSTemplateText.name || behind.properties.numericType != nil
  }

  /// Separators of host names by UTS 46, and characters that look like them.
  private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}", "\u{2024}"]

  private static func isLabel(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == SMSTemplateText.name
      || scalar == SMSTemplateText.domain
  }

  /// Length of the longest run of digits, ignoring spaces and hyphens.
  private static func digits(_ scalars: [Unicode.Scalar]) -> Int {
    var most = 0
    var run = 0
    for scalar in scalars {
      if scalar.properties.numericType == .decimal {
        run += 1
      } else if scalar != " ", scalar != "-", scalar != "\u{A0}" {
        run = 0
      }
      most = max(most, run)
    }
    return most
  }

  private static func word(_ scalars: [Unicode.Scalar], _ place: Int) -> ArraySlice<Unicode.Scalar> {
    let start = scalars[..<place].lastIndex(where: \.properties.isWhitespace).map { $0 + 1 } ?? 0
    let end = scalars[place...].firstIndex(where: \.properties.isWhitespace) ?? scalars.count
    return scalars[start..<end]
  }

  private static func readable(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    scalars.reduce(into: "") { text, scalar in
      switch scalar {
      case SMSTemplateText.code: text += "{code}"
      case SMSTemplateText.name: text += "{appName}"
      case SMSTemplateText.domain: text += "{domain}"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
