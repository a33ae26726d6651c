/// Looks for what a phone or a reader takes for a link. A verification message has none: who learns that they do will follow the
/// next one. The only domain in it is that of the last line, which the worker writes.
enum LinkLinter {
  /// A number in the text, beside the code, that somebody might call or mistake for it.
  static let fewestDigitsOfNumber = 4

  static func problems(_ text: TemplateText) -> [String] {
    let scalars = Array(text.skeleton.unicodeScalars)
    let lower = text.skeleton.lowercased()
    var problems: [String] = []
    if ["://", "www.", "http", "hxxp"].contains(where: lower.contains) { problems.append("has a link") }
    if let place = scalars.indices.first(where: { isDomain(scalars, $0) }) {
      problems.append(
        "has '\(readable(word(scalars, place)))', of which phones make a link: put a space behind the full stop, or leave the domain out"
      )
    }
    if scalars.contains(where: { ["@", "\u{FF20}", "\u{FE6B}"].contains($0) }) {
      problems.append("has an @, which begins the last line that phones read, or an address")
    }
    if digits(scalars) >= fewestDigitsOfNumber { problems.append("has a number beside the code") }
    return problems
  }

  /// Whether a dot of a domain or of an IP address is at a place: it stands between letters or digits, two of them behind it.
  private static func isDomain(_ scalars: [Unicode.Scalar], _ place: Int) -> Bool {
    guard dots.contains(scalars[place]), place > 0, place + 2 < scalars.count else { return false }
    let before = scalars[place - 1]
    let behind = scalars[place + 1]
    if scalars[place] != ".", !before.isASCII || !behind.isASCII { return false }
    guard isLabel(before), isLabel(behind) else { return false }
    // One letter behind the dot is an abbreviation, z.B.
    return isLabel(scalars[place + 2]) || behind == TemplateText.name || behind.properties.numericType != nil
  }

  /// What names of hosts are divided by, according to UTS 46, and what looks like it.
  private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}", "\u{2024}"]

  private static func isLabel(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == TemplateText.name
      || scalar == TemplateText.domain
  }

  /// The most digits in a row, spaces and hyphens between them.
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

  /// What stands between spaces around a place.
  private static func word(_ scalars: [Unicode.Scalar], _ place: Int) -> ArraySlice<Unicode.Scalar> {
    let start = scalars[..<place].lastIndex(where: \.properties.isWhitespace).map { $0 + 1 } ?? 0
    let end = scalars[place...].firstIndex(where: \.properties.isWhitespace) ?? scalars.count
    return scalars[start..<end]
  }

  /// With the variables as they are written.
  private static func readable(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    scalars.reduce(into: "") { text, scalar in
      switch scalar {
      case TemplateText.code: text += "{code}"
      case TemplateText.name: text += "{appName}"
      case TemplateText.domain: text += "{domain}"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
