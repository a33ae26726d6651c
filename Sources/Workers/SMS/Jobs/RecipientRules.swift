import JobEngine
public import PhoneNumbers

/// Rules for the numbers that this worker sends to, whoever asks: jobs of other services come past the coordinator and its own.
public struct RecipientRules: Sendable {
  /// Regions and types of number.
  public var regions: RegionRules
  /// Facts that are younger than the metadata of the library.
  public var overrides: NumberOverrides

  /// - Parameters:
  ///   - regions: Where messages may go.
  ///   - overrides: The table of the coordinator.
  public init(regions: RegionRules, overrides: NumberOverrides = .none) {
    self.regions = regions
    self.overrides = overrides
  }

  /// Decides whether a job's `to` gets messages.
  ///
  /// It has to be in E.164 (`+` and 7 to 15 digits, ITU-T E.164, 6.2.1), of a country code that there is, and not too short for it.
  /// The tables of numbers on a machine are older than the numbers, and plans grow: to tables of 2022 all mobile numbers of Benin
  /// are too long. So other lengths are left to the provider, unless the overrides know that they are gone.
  func judge(_ text: String) -> Verdict {
    if let problem = Self.problem(with: text) { return .refused(problem) }
    let known: PhoneNumber
    do {
      known = try PhoneNumber.parse(text)
    } catch {
      // A number of which neither region nor type can be told must not pass as one of a region that is allowed.
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

  /// Outcome of a judgment; a number that is allowed comes with the region by which lanes are chosen.
  enum Verdict {
    case allowed(region: String)
    case refused(Reason)
  }

  /// The form of a number, which takes a twentieth of what all of it takes.
  private static func problem(with text: String) -> Reason? {
    do {
      switch try PhoneNumber.possibility(ofE164: text) {
      case .possible, .tooLong, .invalidLength: return nil
      case .tooShort, .localOnly: return reason("`to` is too short for its country.")
      case .invalidCountryCode: return reason("`to` begins with no country code.")
      case nil: return reason("`to` must be a phone number in E.164, such as +14155550123.")
      }
    } catch {
      return reason("`to` cannot be read as a phone number.")
    }
  }

  private static func reason(_ detail: String) -> Reason { Reason("INVALID_NUMBER", detail) }
}
