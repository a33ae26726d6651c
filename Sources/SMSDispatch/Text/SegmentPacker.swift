/// Cuts a text that is too long for one short message into parts.
///
/// What a reader sees as one character (a grapheme cluster: an emoji with its skin tone, a Devanagari syllable, CR LF) is not
/// cut in two, unless it alone is longer than a part; then it is cut between scalars. An escape sequence of the GSM extension
/// table and a surrogate pair are never cut: each comes from one scalar.
enum SegmentPacker {
  /// The ranges of the parts, in order and without gaps, each within the encoding's part limit.
  static func pack(_ text: String, _ encoding: SMSEncoding) -> [Range<String.Index>] {
    var parts = Parts(text: text, limit: encoding.partLimit)
    var index = text.startIndex
    while index < text.endIndex {
      let next = text.index(after: index)
      let units = units(of: text.unicodeScalars[index..<next], encoding)
      if units <= encoding.partLimit {
        parts.add(units, from: index)
      } else {
        addScalars(of: text, index..<next, encoding, to: &parts)
      }
      index = next
    }
    return parts.finish()
  }

  private static func addScalars(
    of text: String, _ cluster: Range<String.Index>, _ encoding: SMSEncoding, to parts: inout Parts
  ) {
    let scalars = text.unicodeScalars
    var index = cluster.lowerBound
    while index < cluster.upperBound {
      let next = scalars.index(after: index)
      parts.add(units(of: scalars[index..<next], encoding), from: index)
      index = next
    }
  }

  private static func units(of scalars: Substring.UnicodeScalarView, _ encoding: SMSEncoding) -> Int {
    scalars.reduce(0) { sum, scalar in
      switch encoding {
      case .gsm7: sum + GSMAlphabet.septets(of: scalar)
      case .ucs2: sum + UTF16.width(scalar)
      }
    }
  }

  /// The parts cut so far.
  private struct Parts {
    let text: String
    let limit: Int
    private var ranges: [Range<String.Index>] = []
    private var start: String.Index
    private var used = 0

    init(text: String, limit: Int) {
      self.text = text
      self.limit = limit
      self.start = text.startIndex
    }

    /// Takes a piece that begins at `index` into the current part, or into a new one when it does not fit.
    mutating func add(_ units: Int, from index: String.Index) {
      if used + units > limit {
        ranges.append(start..<index)
        start = index
        used = 0
      }
      used += units
    }

    func finish() -> [Range<String.Index>] { ranges + [start..<text.endIndex] }
  }
}
