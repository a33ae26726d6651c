import CountersignMessages
import NumberRules
import PhoneNumbers
import ServiceRuntime

extension CoordinatorRules {
  /// - Parameter section: the top of the configuration.
  init(_ section: ConfigurationSection) {
    let verification = section.section("verification")
    let retention = verification.seconds(
      "retentionSeconds", default: .seconds(86_400), in: .seconds(600)...(.seconds(90 * 86_400)),
      "How long a verification that is over can still be asked about.")
    self.init(
      policy: VerificationPolicy(verification), limits: Limits(section.section("limits")),
      regions: RegionRules(section.section("regions")), numberOverrides: NumberOverrides.read(section),
      apps: AppProfile.read(section),
      onUnknown: OnUnknown(
        verification.word(
          "onUnknown", default: Repetition.resend,
          "Action of a worker when it is unknown whether an SMS was sent: resend it, with the same code, or report.")),
      retention: retention,
      inboxRetention: section.section("inbox").seconds(
        "retentionSeconds", default: .seconds(3600), in: .seconds(60)...(.seconds(7 * 86_400)),
        "How long a command that comes again under its message_id is answered with the same reply."),
      proof: ProofPolicy(section.section("proof")), revocation: RevocationPolicy(section.section("revocation")),
      conversion: ConversionPolicy(section.section("conversion"), retention: retention),
      maxCommandAge: section.section("commands").seconds(
        "maxAgeSeconds", default: Self.defaultMaxCommandAge, in: .seconds(1)...(.seconds(86_400)),
        "How old a verification.start or app.verify may be, by its timestamp, that is carried out."),
      operators: Set(
        section.strings(
          "operators", default: Self.defaultOperators.sorted(),
          "Users of the broker whose commands for operators are carried out: conversion.list, conversion.lift, number.forget."
        )))
  }
}

private enum Repetition: String, CaseIterable {
  case resend, report
}

extension OnUnknown {
  fileprivate init(_ repetition: Repetition) {
    switch repetition {
    case .resend: self = .resend
    case .report: self = .report
    }
  }
}

extension VerificationPolicy {
  /// Gaps that can be configured.
  static let resendGapSeconds = 0...3600

  /// - Parameter section: the section `verification`.
  init(_ section: ConfigurationSection) {
    self.init(
      codeLength: section.integer("codeLength", default: 6, in: 4...10, "Digits of a code."),
      lifetime: section.seconds(
        "lifetimeSeconds", default: .seconds(300), in: .seconds(1)...(.seconds(3600)),
        "How long a code is valid after it was sent."),
      maximumLifetime: section.seconds(
        "maximumLifetimeSeconds", default: .seconds(600), in: .seconds(1)...(.seconds(7200)),
        "How long a verification lives in all, however often its code is sent again."),
      resendGaps: section.integers(
        "resendGapsSeconds", default: [30, 60, 120], in: Self.resendGapSeconds,
        "How long to wait before the code is sent a second, third, … time; the last one repeats."
      ).map { .seconds($0) },
      checksPerCode: section.integer("checksPerCode", default: 5, in: 1...100, "How often a code may be checked."))
    if lifetime > maximumLifetime {
      section.problem("maximumLifetimeSeconds", "must not be below lifetimeSeconds")
    }
    if resendGaps.isEmpty { section.problem("resendGapsSeconds", "must have at least one gap") }
    if maximumLifetime > .seconds(600) {
      section.warning("maximumLifetimeSeconds", "is above 600, the longest that NIST SP 800-63B allows")
    }
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
