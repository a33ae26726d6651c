/// Signs by which a phone or a reader takes a text for a link, an address or another code. Verification messages have
/// none: users who are used to links follow the next one too.
///
/// A variable of a template that is examined stands as a scalar of private use: ``marks``, or ``codeMark`` for the
/// code.
public struct PhishingSigns: Sendable {
  /// Minimum length of a number that a reader might call, or mistake for the code.
  public static let fewestDigitsOfNumber = 4
  /// Mark of the code in a template. It begins no domain.
  public static let codeMark: Unicode.Scalar = "\u{E000}"
  /// Marks of the other variables, which may stand for any letters.
  public static let marks: ClosedRange<Unicode.Scalar> = "\u{E001}"..."\u{E0FF}"

  private let text: String
  private let scalars: [Unicode.Scalar]

  public init(_ text: String) {
    self.text = text
    scalars = Array(text.unicodeScalars)
  }

  /// Whether there is the beginning of an address of the web.
  public var hasLink: Bool {
    let lower = text.lowercased()
    return ["://", "www.", "http", "hxxp"].contains(where: lower.contains)
  }

  /// First word that phones turn into a link, because it has the dot of a domain or of an IP address.
  public var domain: String? {
    scalars.indices.first(where: isDomain).map { place in
      String(String.UnicodeScalarView(word(place)))
    }
  }

  /// Whether there is an @, which begins the last line that phones read, or an address.
  public var hasAt: Bool { scalars.contains { ["@", "\u{FF20}", "\u{FE6B}"].contains($0) } }

  /// Number of digits of any script, in circles and full-width ones too.
  public var digits: Int {
    scalars.count(where: { $0.properties.numericType == .decimal || $0.properties.numericType == .digit })
  }

  /// Length of the longest run of digits, ignoring spaces and hyphens.
  public var longestNumber: Int {
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

  /// Whether there is a dot of a domain or an IP address at a place: between letters or digits, with two of them after
  /// it.
  private func isDomain(_ place: Int) -> Bool {
    guard Self.dots.contains(scalars[place]), place > 0, place + 2 < scalars.count else { return false }
    let before = scalars[place - 1]
    let behind = scalars[place + 1]
    if scalars[place] != ".", !before.isASCII || !behind.isASCII { return false }
    guard isLabel(before), isLabel(behind) else { return false }
    // One letter after the dot is an abbreviation, z.B.
    return isLabel(scalars[place + 2]) || Self.marks.contains(behind) || behind.properties.numericType != nil
  }

  /// Separators of host names by UTS 46, and characters that look like them.
  private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}", "\u{2024}"]

  private func isLabel(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isAlphabetic || scalar.properties.numericType != nil || Self.marks.contains(scalar)
  }

  private func word(_ place: Int) -> ArraySlice<Unicode.Scalar> {
    let start = scalars[..<place].lastIndex(where: \.properties.isWhitespace).map { $0 + 1 } ?? 0
    let end = scalars[place...].firstIndex(where: \.properties.isWhitespace) ?? scalars.count
    return scalars[start..<end]
  }
}
