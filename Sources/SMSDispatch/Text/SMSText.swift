/// The text of a short message as a network will carry it: which encoding, how many units, how many segments.
///
/// GSM 7 bit is taken when every character is in it, else UCS-2. A text whose characters are only spelled differently from
/// the alphabet (a letter and a combining accent, the ångström sign) is composed first, which costs nothing and keeps it in
/// GSM 7 bit.
public struct SMSText: Sendable, Hashable {
  /// What to hand to the provider. Canonically equivalent to the text that was given.
  public let text: String
  public let encoding: SMSEncoding
  /// The length of the whole text: septets in GSM 7 bit, code units in UCS-2.
  public let units: Int
  /// The number of short messages that it takes; an empty text takes one.
  public let segments: Int

  /// - Parameter text: Any text; limits on its length are the caller's.
  public init(_ text: String) {
    if let units = Self.septets(of: text) {
      self.init(text: text, encoding: .gsm7, units: units)
    } else if let composed = Self.composed(text), let units = Self.septets(of: composed) {
      self.init(text: composed, encoding: .gsm7, units: units)
    } else {
      self.init(text: text, encoding: .ucs2, units: text.utf16.count)
    }
  }

  private init(text: String, encoding: SMSEncoding, units: Int) {
    self.text = text
    self.encoding = encoding
    self.units = units
    self.segments = units <= encoding.singleLimit ? 1 : SegmentPacker.pack(text, encoding).count
  }

  /// The texts of the segments, in order. Joined they are `text` again.
  public func parts() -> [String] {
    segments == 1 ? [text] : SegmentPacker.pack(text, encoding).map { String(text[$0]) }
  }

  /// The septets of a text, or nil when one of its characters is not in the alphabet.
  private static func septets(of text: String) -> Int? {
    var sum = 0
    for scalar in text.unicodeScalars {
      let septets = GSMAlphabet.septets(of: scalar)
      if septets == 0 { return nil }
      sum += septets
    }
    return sum
  }

  /// The same text in scalars of the GSM alphabet, or nil when one of its characters has none.
  private static func composed(_ text: String) -> String? {
    var scalars = String.UnicodeScalarView()
    for character in text {
      if character == "\r\n" {
        scalars.append(contentsOf: "\r\n".unicodeScalars)
      } else if let scalar = GSMAlphabet.precomposed(character) {
        scalars.append(scalar)
      } else {
        return nil
      }
    }
    return String(scalars)
  }
}
