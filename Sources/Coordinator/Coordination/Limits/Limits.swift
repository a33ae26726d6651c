/// The configured limits. The defaults are for production; `Config/coordinator.json5` explains each.
///
/// To add one: a field here; a ``LimitRefusal/Scope`` and its text; a ``RateLimits/Check`` in a list of its action, in
/// `RateLimits.swift` for an SMS, else in a `RateLimits+…`; a line in `Limits+Configuration`; `Config/coordinator.json5`.
/// A list both names the counters to load and counts in them. A check in the list of a device is loaded only where a
/// receipt comes with its secret. Two limits of one subject need two ``LimitRule/Key``s.
public struct Limits: Sendable, Hashable {
  /// SMS to one number within 10 minutes.
  var sendsPerNumberPer10Minutes = 5
  /// SMS to one number within 24 hours.
  var sendsPerNumberPerDay = 10
  /// SMS requested from one address (an IPv4 address, an IPv6 /64) within an hour.
  var sendsPerAddressPerHour = 30
  /// SMS within 10 minutes to numbers that differ in their last four digits only.
  var sendsPerPrefixPer10Minutes = 20
  /// The same, for numbers that are possible but of unknown type.
  var sendsToUnknownTypePerPrefixPer10Minutes = 5
  /// SMS that one device may have proven its app for within 24 hours. A person who signs in needs one or two.
  var sendsPerDevicePerDay = 20
  /// SMS to one country within a day in UTC, for countries that ``countryBudgets`` does not name.
  var sendsPerCountryPerDay = 2_000
  /// SMS to one country within a day in UTC, by region code.
  var countryBudgets: [String: Int] = [:]
  /// SMS in total within a day in UTC.
  var sendsPerDay = 10_000

  /// Checks of codes for one number within an hour, over all its verifications.
  var checksPerNumberPerHour = 10
  /// Wrong codes from one address within an hour: those of six verifications.
  var wrongCodesPerAddressPerHour = 30
  /// Wrong codes for one app within 24 hours. About one code in ten is mistyped, and ``sendsPerDay`` are sent.
  var wrongCodesPerAppPerDay = 2_000
  /// Wrong codes in total within 24 hours.
  var wrongCodesPerDay = 3_000
  /// Wrong codes for one fictional number of an app within an hour.
  var wrongCodesPerFictionalNumberPerHour = 10
  /// The same within 24 hours. Its code stays fixed for years: at 30 guesses a day, the chance of finding one of a
  /// million within a year is one in ninety.
  var wrongCodesPerFictionalNumberPerDay = 30

  /// Receipts for one device token of an app within an hour.
  var receiptsPerDevicePerHour = 10
  /// Receipts, and so pushes, for one app within a day in UTC.
  var receiptsPerAppPerDay = 20_000
  /// Receipts in total within a day in UTC.
  var receiptsPerDay = 50_000
  /// Receipts and assessments of reCAPTCHA tokens requested from one address within an hour.
  var proofsPerAddressPerHour = 60
  /// Assessments of reCAPTCHA tokens, which cost money, for one app within a day in UTC.
  var assessmentsPerAppPerDay = 10_000
  /// Assessments of reCAPTCHA tokens in total within a day in UTC.
  var assessmentsPerDay = 20_000

  /// Revocations for one app within a day in UTC.
  var revocationsPerAppPerDay = 2_000
  /// Revocations in total within a day in UTC.
  var revocationsPerDay = 5_000
  /// Notices of revocations to one mail address within 24 hours.
  var noticesPerAddressPerDay = 3
  /// Notices of revocations for one app within a day in UTC.
  var noticesPerAppPerDay = 1_000

  /// The budget of a region for a day.
  func budget(of region: String) -> Int {
    countryBudgets[region] ?? sendsPerCountryPerDay
  }
}
