import NumberRules
import ServiceRuntime

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

extension Limits {
  /// Limits that can be configured.
  private static let range = 0...1_000_000_000

  /// - Parameter section: the section `limits`.
  init(_ section: ConfigurationSection) {
    self.init()
    func read(_ key: String, _ value: inout Int, _ help: String) {
      value = section.integer(key, default: value, in: Self.range, help)
    }
    readSends(read, section)
    readChecks(read)
    readProofs(read)
  }

  private typealias Read = (_ key: String, _ value: inout Int, _ help: String) -> Void

  private mutating func readSends(_ read: Read, _ section: ConfigurationSection) {
    read("sendsPerNumberPer10Minutes", &sendsPerNumberPer10Minutes, "Messages to one number within 10 minutes.")
    read("sendsPerNumberPerDay", &sendsPerNumberPerDay, "Messages to one number within 24 hours.")
    read(
      "sendsPerAddressPerHour", &sendsPerAddressPerHour,
      "Messages asked for from one IPv4 address or IPv6 /64 within an hour, where the command has client.ip.")
    read(
      "sendsPerPrefixPer10Minutes", &sendsPerPrefixPer10Minutes,
      "Messages within 10 minutes to numbers that differ in their last four digits only.")
    read(
      "sendsToUnknownTypePerPrefixPer10Minutes", &sendsToUnknownTypePerPrefixPer10Minutes,
      "The same for numbers that are possible and of a type that the metadata does not know.")
    read(
      "sendsPerDevicePerDay", &sendsPerDevicePerDay,
      "Messages that one device may have proven its app for within 24 hours.")
    read("sendsPerCountryPerDay", &sendsPerCountryPerDay, "Messages to one country within a day in UTC.")
    countryBudgets = section.integerMap(
      "countryBudgets", in: Self.range, "Messages within a day in UTC by region code, where they differ.")
    section.checkRegions("countryBudgets", countryBudgets.keys.sorted())
    read("sendsPerDay", &sendsPerDay, "Messages in all within a day in UTC: the cap on what can be spent.")
  }

  private mutating func readChecks(_ read: Read) {
    read("checksPerNumberPerHour", &checksPerNumberPerHour, "Checks of codes for one number within an hour.")
    read(
      "wrongCodesPerAddressPerHour", &wrongCodesPerAddressPerHour,
      "Wrong codes from one IPv4 address or IPv6 /64 within an hour, where the check has client.ip.")
    read("wrongCodesPerAppPerDay", &wrongCodesPerAppPerDay, "Wrong codes for one app within 24 hours.")
    read("wrongCodesPerDay", &wrongCodesPerDay, "Wrong codes in all within 24 hours.")
    read(
      "wrongCodesPerFictionalNumberPerHour", &wrongCodesPerFictionalNumberPerHour,
      "Wrong codes for one fictional number of an app within an hour.")
    read(
      "wrongCodesPerFictionalNumberPerDay", &wrongCodesPerFictionalNumberPerDay,
      "Wrong codes for one fictional number of an app within 24 hours.")
  }

  private mutating func readProofs(_ read: Read) {
    read(
      "receiptsPerDevicePerHour", &receiptsPerDevicePerHour,
      "Receipts of app.verify, and so pushes, for one device token within an hour.")
    read(
      "proofsPerAddressPerHour", &proofsPerAddressPerHour,
      "Receipts and assessments of reCAPTCHA tokens from one IPv4 address or IPv6 /64 within an hour.")
    read("receiptsPerAppPerDay", &receiptsPerAppPerDay, "Receipts, and so pushes, for one app within a day in UTC.")
    read("receiptsPerDay", &receiptsPerDay, "Receipts, and so pushes, in all within a day in UTC.")
    read(
      "assessmentsPerAppPerDay", &assessmentsPerAppPerDay,
      "Assessments of reCAPTCHA tokens for one app within a day in UTC.")
    read("assessmentsPerDay", &assessmentsPerDay, "Assessments of reCAPTCHA tokens in all within a day in UTC.")
    read("revocationsPerAppPerDay", &revocationsPerAppPerDay, "Revocations for one app within a day in UTC.")
    read("revocationsPerDay", &revocationsPerDay, "Revocations in all within a day in UTC.")
    read(
      "noticesPerAddressPerDay", &noticesPerAddressPerDay,
      "Notices of revocations to one mail address within 24 hours.")
    read("noticesPerAppPerDay", &noticesPerAppPerDay, "Notices of revocations for one app within a day in UTC.")
  }
}
