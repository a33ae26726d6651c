import NumberRules
import ServiceRuntime

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
