import CPhoneNumber

/// Whether a number has a length that its country's numbers have. A weaker test than validity, and one that does not
/// age.
public enum Possibility: String, Sendable, Hashable, CaseIterable {
  case possible
  /// Only within its area: something is missing in front.
  case localOnly
  case invalidCountryCode
  case tooShort
  /// Between the lengths that there are.
  case invalidLength
  case tooLong

  init(code: Int32) {
    self =
      switch code {
      case 0: .possible
      case 1: .localOnly
      case 2: .invalidCountryCode
      case 3: .tooShort
      case 4: .invalidLength
      default: .tooLong
      }
  }
}

extension PhoneNumber {
  /// Whether a number that is in E.164 already has a length of its country's. Takes a twentieth of
  /// ``parse(_:region:)``, for those who need to know neither the type nor the region.
  /// - Returns: nil when the text does not have the form of E.164.
  /// - Throws: ``PhoneNumberError/Code/unavailable`` when the library fails.
  public static func possibility(ofE164 text: String) throws(PhoneNumberError) -> Possibility? {
    guard isE164(text) else { return nil }
    var text = text
    var possibility: Int32 = 0
    let status = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        // Behind the plus; the form is checked, so there is an address.
        characters.baseAddress.map { cpn_possibility($0 + 1, characters.count - 1, &possibility) }
          ?? Int32(CPN_EXCEPTION)
      }
    }
    switch Int(status) {
    case CPN_OK: return Possibility(code: possibility)
    case CPN_INVALID_COUNTRY_CODE: return .invalidCountryCode
    default: throw PhoneNumberError(.unavailable)
    }
  }
}
