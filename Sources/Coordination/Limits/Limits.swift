/// How much is allowed. The defaults are for production; `Config/coordinator.json5` explains each.
public struct Limits: Sendable, Hashable {
  /// Messages to one number within 10 minutes.
  public var sendsPerNumberPer10Minutes = 5
  /// Messages to one number within 24 hours.
  public var sendsPerNumberPerDay = 10
  /// Checks of codes for one number within an hour, over all its verifications.
  public var checksPerNumberPerHour = 10
  /// Messages asked for from one address (an IPv4 address, an IPv6 /64) within an hour.
  public var sendsPerAddressPerHour = 30
  /// Messages within 10 minutes to numbers that differ in their last four digits only.
  public var sendsPerPrefixPer10Minutes = 20
  /// The same, for numbers that are possible but whose type is not known.
  public var sendsToUnknownTypePerPrefixPer10Minutes = 5
  /// Messages to one country within a day in UTC, for countries that ``countryBudgets`` does not name.
  public var sendsPerCountryPerDay = 2_000
  /// Messages to one country within a day in UTC, by region code.
  public var countryBudgets: [String: Int] = [:]
  /// Messages in all within a day in UTC.
  public var sendsPerDay = 10_000

  /// Receipts for one device token of an app within an hour.
  public var receiptsPerDevicePerHour = 10
  /// Receipts and assessments of reCAPTCHA tokens asked for from one address within an hour.
  public var proofsPerAddressPerHour = 60

  public init() {}

  /// The budget of a region for a day.
  func budget(of region: String) -> Int {
    countryBudgets[region] ?? sendsPerCountryPerDay
  }
}
