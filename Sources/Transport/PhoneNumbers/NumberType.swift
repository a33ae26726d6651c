/// Use of a range of numbers by its numbering plan.
public enum NumberType: String, Sendable, Hashable, CaseIterable {
  case fixedLine
  case mobile
  /// Numbers that show no difference, as in North America.
  case fixedLineOrMobile
  case tollFree
  case premiumRate
  case sharedCost
  case voip
  /// Numbers that follow a person, often at a premium.
  case personal
  case pager
  /// Universal access numbers of companies.
  case uan
  case voicemail
  /// No known range: the number is not valid by the metadata, which may be older than the range.
  case unknown

  init(code: Int32) {
    self =
      switch code {
      case 0: .fixedLine
      case 1: .mobile
      case 2: .fixedLineOrMobile
      case 3: .tollFree
      case 4: .premiumRate
      case 5: .sharedCost
      case 6: .voip
      case 7: .personal
      case 8: .pager
      case 9: .uan
      case 10: .voicemail
      default: .unknown
      }
  }
}
