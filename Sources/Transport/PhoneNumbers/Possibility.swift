/// Whether a number has a length that its country's numbers have; a weaker test than validity, and one that does not
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

  /// - Parameter code: `PhoneNumberUtil::ValidationResult`, in the order of phonenumberutil.h.
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
