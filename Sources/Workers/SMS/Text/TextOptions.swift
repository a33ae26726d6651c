/// Changes that a lane may make to a text of several segments.
public struct TextOptions: Sendable, Hashable {
  /// Whether the text may be written with national language tables, which the provider and the phones must support.
  public var nationalShiftTables: Bool
  /// Replacements for characters that keep the text out of GSM 7 bit. `nil`: the spelling stays.
  public var transliteration: Transliteration?

  public init(nationalShiftTables: Bool = false, transliteration: Transliteration? = nil) {
    self.nationalShiftTables = nationalShiftTables
    self.transliteration = transliteration
  }

  /// No changes.
  public static let none = TextOptions()
}

extension SMSText {
  /// The allowed form of the text that takes the fewest segments. Among equals the most faithful one wins: unchanged,
  /// then with national tables, then in another spelling. So a change always saves a segment.
  public func shortened(_ options: TextOptions) -> SMSText {
    guard segments > 1, encoding == .ucs2 else { return self }
    var best = self
    for other in [options.nationalShiftTables ? withNationalTables() : nil, options.transliteration?.apply(to: self)] {
      if let other, other.segments < best.segments { best = other }
    }
    return best
  }

  /// Shortest form with national tables. `nil` if no language has all the characters.
  public func withNationalTables() -> SMSText? {
    guard encoding == .ucs2 else { return nil }
    return NationalShift.all.lazy.compactMap { SMSText(text, $0) }.min { $0.segments < $1.segments }
  }

  /// Characters that keep the text out of GSM 7 bit, each once, in the order of the text.
  public var charactersOutsideGSM7: [Character] {
    guard encoding == .ucs2 else { return [] }
    var found: [Character] = []
    for character in text where SMSText(String(character)).encoding == .ucs2 && !found.contains(character) {
      found.append(character)
    }
    return found
  }
}
