/// A language with tables of its own for GSM 7 bit; the numbers are those that stand in a message's header (3GPP TS 23.038,
/// 6.2.1.2.4).
public enum NationalLanguage: UInt8, Sendable, Hashable, CaseIterable {
  case turkish = 1
  case spanish, portuguese, bengali, gujarati, hindi, kannada, malayalam, oriya, punjabi, tamil, telugu, urdu
}
