/// Finds the line by which phones and browsers fill in a code at one domain only: `@example.com #482913`, as the last line
/// (draft-wells-origin-bound-one-time-codes, section 3; Apple's form has `%embedded.example` behind it).
enum DomainBoundCode {
  /// The last line of a text if phones may take it for such a line.
  ///
  /// Wider than the draft: readers trim, and a text that only nearly has the form has no reason to.
  static func line(of text: String) -> Substring? {
    let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingSpace() }
    guard let last = lines.last(where: { !$0.isEmpty }), last.first.map(isAt) == true,
      last.contains(where: { $0 == "#" || $0 == "\u{FF03}" })
    else { return nil }
    return last
  }

  /// Also as East Asian keyboards write it.
  private static func isAt(_ character: Character) -> Bool { character == "@" || character == "\u{FF20}" }
}

extension Substring {
  /// Without white space and marks of direction, which are drawn as nothing, at both ends.
  fileprivate func trimmingSpace() -> Substring {
    func isSpace(_ scalar: Unicode.Scalar) -> Bool {
      scalar.properties.isWhitespace || ["\u{200E}", "\u{200F}", "\u{061C}"].contains(scalar)
    }
    var scalars = unicodeScalars
    while let first = scalars.first, isSpace(first) { scalars.removeFirst() }
    while let last = scalars.last, isSpace(last) { scalars.removeLast() }
    return Substring(scalars)
  }
}
