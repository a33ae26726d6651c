extension SMSText {
  /// The form of the text that takes the fewest segments of those that are allowed. Among equals the most faithful is taken:
  /// as it is, then with national tables, then in another spelling. So nothing is changed that saves nothing.
  public func shortened(_ options: TextOptions) -> SMSText {
    guard segments > 1, encoding == .ucs2 else { return self }
    var best = self
    for other in [options.nationalShiftTables ? withNationalTables() : nil, options.transliteration?.apply(to: self)] {
      if let other, other.segments < best.segments { best = other }
    }
    return best
  }

  /// The shortest form with national tables; nil when no language has all the characters.
  public func withNationalTables() -> SMSText? {
    guard encoding == .ucs2 else { return nil }
    return NationalShift.all.lazy.compactMap { SMSText(text, $0) }.min { $0.segments < $1.segments }
  }

  /// The characters that keep the text out of GSM 7 bit, each once, in the order in which they come.
  public var charactersOutsideGSM7: [Character] {
    guard encoding == .ucs2 else { return [] }
    var found: [Character] = []
    for character in text where SMSText(String(character)).encoding == .ucs2 && !found.contains(character) {
      found.append(character)
    }
    return found
  }
}
