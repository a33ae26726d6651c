import PhoneNumbers
import WorkerRuntime

/// The check of a job's `to`.
enum Recipient {
  /// Why a number is not sent to; nil for one that is.
  ///
  /// It has to be in E.164 (`+` and 7 to 15 digits, ITU-T E.164, 6.2.1), of a country code that there is, and not too short for it.
  /// More is not asked. The tables of numbers on a machine are older than the numbers, and plans grow: to tables of 2022 all mobile
  /// numbers of Benin are too long. The provider knows.
  static func problem(with text: String) -> Reason? {
    do {
      switch try PhoneNumber.possibility(ofE164: text) {
      case .possible, .tooLong, .invalidLength: return nil
      case .tooShort, .localOnly: return reason("`to` is too short for its country.")
      case .invalidCountryCode: return reason("`to` begins with no country code.")
      case nil: return reason("`to` must be a phone number in E.164, such as +14155550123.")
      }
    } catch {
      // The form is right; what the library cannot say, the provider will.
      return nil
    }
  }

  /// The region by which lanes are chosen, which takes some 20 µs to find. Where several share a country code and the number is too
  /// new to be told, the main one.
  static func region(of number: String) -> String? {
    do {
      let number = try PhoneNumber.parse(number)
      return number.region ?? number.countryCodeRegion
    } catch {
      return nil
    }
  }

  private static func reason(_ detail: String) -> Reason { Reason("INVALID_NUMBER", detail) }
}
