/// What a lane may do to a text that would take several segments.
public struct TextOptions: Sendable, Hashable {
  /// Write it with national language tables, which the provider and the phones behind it must know.
  public var nationalShiftTables: Bool
  /// Replace characters that keep it out of GSM 7 bit; nil: leave the spelling alone.
  public var transliteration: Transliteration?

  /// - Parameters:
  ///   - nationalShiftTables: Whether national language tables may be used.
  ///   - transliteration: What may be replaced by what.
  public init(nationalShiftTables: Bool = false, transliteration: Transliteration? = nil) {
    self.nationalShiftTables = nationalShiftTables
    self.transliteration = transliteration
  }

  /// A text stays as it is.
  public static let none = TextOptions()
}
