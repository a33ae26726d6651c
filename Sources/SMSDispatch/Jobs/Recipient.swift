import PhoneNumbers
import WorkerRuntime

/// The check of a job's `to`.
enum Recipient {
  /// Why a number is not sent to.
  struct Problem: Error { let reason: Reason }

  /// A number in E.164 (`+` and 7 to 15 digits, ITU-T E.164, 6.2.1) of a country code that there is, and not too short for it.
  ///
  /// More is not asked. The tables of numbers on a machine are older than the numbers, and plans grow: to tables of 2022 all mobile
  /// numbers of Benin are too long. The provider knows.
  static func check(_ text: String) -> Result<PhoneNumber, Problem> {
    guard isE164(text) else { return failure("`to` must be a phone number in E.164, such as +14155550123.") }
    let number: PhoneNumber
    do {
      number = try PhoneNumber.parse(text)
    } catch {
      return failure("`to` is no phone number of any country.")
    }
    switch number.possibility {
    case .possible, .tooLong, .invalidLength: return .success(number)
    case .tooShort, .localOnly: return failure("`to` is too short for its country.")
    case .invalidCountryCode: return failure("`to` begins with no country code.")
    }
  }

  private static func failure(_ detail: String) -> Result<PhoneNumber, Problem> {
    .failure(Problem(reason: Reason("INVALID_NUMBER", detail)))
  }

  private static func isE164(_ text: String) -> Bool {
    let digits = text.utf8.dropFirst()
    return text.utf8.first == UInt8(ascii: "+") && (7...15).contains(digits.count) && digits.first != UInt8(ascii: "0")
      && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
