/// Signs by which a phone or a reader takes a text for a link, an address or another code. Verification messages have
/// none: users who are used to links follow the next one too.
///
/// A variable of a template that is examined stands as a scalar of private use: ``marks``, or ``codeMark`` for the
/// code. Marks on letters, selectors and invisible characters count for nothing, as no reader sees a difference.
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
    scalars = text.unicodeScalars.filter { !Self.isIgnored($0) }
    self.text = String(String.UnicodeScalarView(scalars))
  }

  /// Whether a scalar changes the one before it, or is not seen at all: accents, selectors of a variant, joiners,
  /// direction marks. No normalization form matters then: a letter with its accent and one without are both letters.
  static func isIgnored(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: true
    default: scalar.properties.isVariationSelector
    }
  }

  /// Whether a scalar stands for a number in any script, in circles and full-width too, or is a letter that is one.
  static func isNumeral(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.numericType != nil }

  /// Whether a scalar may stand between the digits of one number.
  static func joinsNumbers(_ scalar: Unicode.Scalar) -> Bool {
    isSpace(scalar) || scalar.properties.generalCategory == .dashPunctuation
  }

  /// Whether a scalar is a space within a line.
  static func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .spaceSeparator }

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

  /// Number of numerals of any script, in circles and full-width ones too. Letters that are numbers count in a run only
  /// (``longestNumber``): names have them.
  public var digits: Int {
    scalars.count { Self.isNumeral($0) && $0.properties.generalCategory != .otherLetter }
  }

  /// Length of the longest run of numerals, ignoring spaces and hyphens.
  public var longestNumber: Int {
    var most = 0
    var run = 0
    for scalar in scalars {
      if Self.isNumeral(scalar) {
        run += 1
      } else if !Self.joinsNumbers(scalar) {
        run = 0
      }
      most = max(most, run)
    }
    return most
  }

  /// Whether there is a dot of a domain or an IP address at a place: behind a label, before two letters or digits.
  private func isDomain(_ place: Int) -> Bool {
    guard Self.dots.contains(scalars[place]), place > 0, place + 2 < scalars.count else { return false }
    let before = scalars[place - 1]
    let behind = scalars[place + 1]
    if scalars[place] != ".", !before.isASCII || !behind.isASCII { return false }
    guard endsLabel(before), isLabel(behind) else { return false }
    // One letter after the dot is an abbreviation, z.B.
    return isLabel(scalars[place + 2]) || Self.marks.contains(behind) || behind.properties.numericType != nil
  }

  /// Separators of host names by UTS 46, and characters that look like them.
  private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}", "\u{2024}"]

  /// Whether a scalar may stand before the dot: a letter, a digit, or a sign such as an emoji, which have domains too.
  private func endsLabel(_ scalar: Unicode.Scalar) -> Bool {
    if isLabel(scalar) { return true }
    guard !scalar.isASCII, scalar != Self.codeMark, !scalar.properties.isWhitespace else { return false }
    switch scalar.properties.generalCategory {
    case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
      .finalPunctuation, .otherPunctuation:
      return false
    default: return true
    }
  }

  private func isLabel(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isAlphabetic || scalar.properties.numericType != nil || Self.marks.contains(scalar)
  }

  private func word(_ place: Int) -> ArraySlice<Unicode.Scalar> {
    let start = scalars[..<place].lastIndex(where: \.properties.isWhitespace).map { $0 + 1 } ?? 0
    let end = scalars[place...].firstIndex(where: \.properties.isWhitespace) ?? scalars.count
    return scalars[start..<end]
  }
}
