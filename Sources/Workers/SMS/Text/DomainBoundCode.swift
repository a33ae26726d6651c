/// Finds the line by which phones and browsers fill in a code at one domain only: `@example.com #482913`, as the last
/// line, followed by `%embedded.example` if the site is embedded (WICG, "Origin-bound one-time codes delivered via
/// SMS", section 3).
enum DomainBoundCode {
  /// Last line of a text if phones may read it as such a line: `@host`, then `#token`.
  ///
  /// More tolerant than the specification between and around these, since readers trim. Readers ignore trailing text,
  /// so it is allowed here too, unless the host has no dot and cannot be a site: `@anna #general is quiet`.
  static func line(of text: String) -> Substring? {
    // Nearly no text has one of its signs. 0xEF begins U+FF20 in UTF-8.
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == 0xEF }) else { return nil }
    let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingSpace() }
    guard let last = lines.last(where: { !$0.isEmpty }), isDomainBound(last) else { return nil }
    return last
  }

  private static func isDomainBound(_ line: Substring) -> Bool {
    let words = line.unicodeScalars.split(whereSeparator: isSpace)
    guard words.count >= 2, isToken(words[0], behind: at), isToken(words[1], behind: number) else { return false }
    return words[0].contains(where: dots.contains) || words.dropFirst(2).allSatisfy { isToken($0, behind: percent) }
  }

  private static func isToken(_ word: Substring.UnicodeScalarView, behind signs: Set<Unicode.Scalar>) -> Bool {
    word.count >= 2 && word.first.map(signs.contains) == true
  }

  // Including the forms of East Asian keyboards.
  private static let at: Set<Unicode.Scalar> = ["@", "\u{FF20}"]
  private static let number: Set<Unicode.Scalar> = ["#", "\u{FF03}"]
  private static let percent: Set<Unicode.Scalar> = ["%", "\u{FF05}"]
  /// UTS #46, section 2.3.
  private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]
}

private func isSpace(_ scalar: Unicode.Scalar) -> Bool {
  scalar.properties.isWhitespace || ["\u{200E}", "\u{200F}", "\u{061C}"].contains(scalar)
}

extension Substring {
  fileprivate func trimmingSpace() -> Substring {
    var scalars = unicodeScalars
    while let first = scalars.first, isSpace(first) { scalars.removeFirst() }
    while let last = scalars.last, isSpace(last) { scalars.removeLast() }
    return Substring(scalars)
  }
}
