import JobEngine
import PhoneNumbers

/// Rules for the numbers that this worker sends to. They apply to every job: those of other services bypass the
/// coordinator's rules.
struct RecipientRules: Sendable {
  /// Allowed regions and refused types of number.
  var regions: RegionRules
  /// Facts that are newer than the library's metadata.
  var overrides = NumberOverrides.none

  /// A number has to be in E.164 (`+` and 7 to 15 digits, ITU-T E.164, 6.2.1), with an existing country code, and not
  /// too short for it. Numbering plans grow faster than a machine's tables, so other lengths are left to the provider,
  /// unless the overrides list them as gone.
  func judge(_ text: String) -> Verdict {
    if let problem = Self.problem(with: text) { return .refused(problem) }
    let known: PhoneNumber
    do {
      known = try PhoneNumber.parse(text)
    } catch {
      // A number without a known region and type must not pass as one of an allowed region.
      return .refused(Self.reason("`to` cannot be read as a phone number."))
    }
    let number = known.applying(overrides)
    guard number.possibility == known.possibility || number.isPossible else {
      return .refused(Self.reason("`to` has a length that its country's numbers no longer have."))
    }
    if regions.refuses(number.type) {
      return .refused(Reason("NUMBER_TYPE_REFUSED", "Numbers of the type \(number.type.rawValue) get no message."))
    }
    guard regions.allows(number.regionKey) else {
      return .refused(
        Reason("REGION_NOT_ALLOWED", "\(number.regionKey) is not in regions.allowed of the sms-worker."))
    }
    return .allowed(region: number.regionKey)
  }

  /// An allowed number comes with its region, by which lanes are chosen.
  enum Verdict {
    case allowed(region: String)
    case refused(Reason)
  }

  /// Costs a twentieth of parsing the number.
  private static func problem(with text: String) -> Reason? {
    do {
      switch try PhoneNumber.possibility(ofE164: text) {
      case .possible, .tooLong, .invalidLength: return nil
      case .tooShort, .localOnly: return reason("`to` is too short for its country.")
      case .invalidCountryCode: return reason("`to` does not begin with a country code.")
      case nil: return reason("`to` must be a phone number in E.164, such as +14155550123.")
      }
    } catch {
      return reason("`to` cannot be read as a phone number.")
    }
  }

  private static func reason(_ detail: String) -> Reason { Reason("INVALID_NUMBER", detail) }
}
