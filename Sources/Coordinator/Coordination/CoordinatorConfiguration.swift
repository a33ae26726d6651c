import CountersignCryptography
public import CountersignMessages
import CountersignTelemetry
import NumberRules
public import PhoneNumbers
public import SQLite
public import ServiceRuntime

/// The coordinator's configuration; `Config/coordinator.json5` explains each key.
public struct CoordinatorConfiguration: ProcessConfiguration {
  public let common: CommonConfiguration
  /// File of the database.
  public let databasePath: String
  public let databaseOptions: DatabaseOptions
  /// Pepper of new codes.
  public let pepper: Pepper?
  /// Pepper of codes made before the last change.
  public let previousPepper: Pepper?
  public let rules: CoordinatorRules
  /// Deliveries taken from each queue ahead.
  public let prefetch: Int
  /// Interval between rounds of the maintenance.
  public let maintenanceInterval: Duration

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8080)
    let database = section.section("database")
    databasePath = database.path(
      "path", default: "/var/lib/countersign/coordinator.sqlite", "The SQLite file; its directory must exist.")
    var options = DatabaseOptions(
      synchronous: database.word(
        "synchronous", default: Durability.full,
        "full: a commit survives the loss of power; normal: the death of the process only."
      ).option)
    // Verifications, numbers and message IDs are looked up at random places.
    options.cacheKiB =
      1024
      * database.integer(
        "cacheMiB", default: 16, in: 1...1024, "Memory for pages of the file, at most, for the writer and each reader.")
    options.readers = database.integer(
      "readers", default: 2, in: 1...8, "Connections that read beside the one that writes.")
    databaseOptions = options
    pepper = Self.pepper(
      section, "pepperFile",
      section.requiredSecretFile(
        "pepperFile", "The secret that codes are made from: make one with 'openssl rand -base64 32'."
      ).reveal())
    previousPepper = Self.pepper(
      section, "previousPepperFile",
      section.secretFile("previousPepperFile", "The pepper before the last change, for an hour after it.")?.reveal())
    rules = CoordinatorRules(section)
    prefetch = section.integer(
      "prefetch", default: 512, in: 1...10_000, "Messages that are taken from each queue ahead.")
    maintenanceInterval = section.seconds(
      "maintenanceSeconds", default: .seconds(1), in: .milliseconds(100)...(.seconds(60)),
      "How often what is due, left over or old is looked for.")
    if common.keys?.sealing == nil {
      section.problem(
        "keysFile", "must hold a key, because codes are always sealed; make one with: countersign keys generate")
    }
  }

  private enum Durability: String, CaseIterable {
    case full, normal

    var option: DatabaseOptions.Synchronous {
      switch self {
      case .full: .full
      case .normal: .normal
      }
    }
  }

  private static func pepper(_ section: ConfigurationSection, _ key: String, _ text: String?) -> Pepper? {
    guard let text, !text.isEmpty else { return nil }
    do {
      return try Pepper(Array(text.utf8))
    } catch {
      section.problem(key, error.message)
      return nil
    }
  }
}

/// Everything that decides on a command, apart from the store.
public struct CoordinatorRules: Sendable, Hashable {
  public var policy: VerificationPolicy
  public var limits: Limits
  public var regions: RegionRules
  /// Corrections for numbers that libphonenumber does not know yet.
  public var numberOverrides: NumberOverrides
  /// Apps by ID.
  public var apps: [String: AppProfile]
  /// Action of workers when it is unknown whether an SMS was sent. A repetition carries the same code, so it does no
  /// harm.
  public var onUnknown: OnUnknown
  /// Time after its end for which a verification can still be queried.
  public var retention: Duration
  /// Time for which a redelivered command gets the same reply.
  public var inboxRetention: Duration
  public var proof: ProofPolicy
  public var revocation: RevocationPolicy
  public var conversion: ConversionPolicy
  /// Maximum age of a `verification.start` or `app.verify` that is carried out.
  public var maxCommandAge: Duration
  /// The users of the broker that may send operators' commands.
  public var operators: Set<String>

  public static let defaultOperators: Set<String> = ["operator"]

  /// Apps give up after ten to thirty seconds, and their users ask again.
  public static let defaultMaxCommandAge = Duration.seconds(30)

  public init(
    policy: VerificationPolicy = VerificationPolicy(), limits: Limits = Limits(), regions: RegionRules,
    numberOverrides: NumberOverrides = .none, apps: [String: AppProfile], onUnknown: OnUnknown = .resend,
    retention: Duration = .seconds(86_400), inboxRetention: Duration = .seconds(3600),
    proof: ProofPolicy = ProofPolicy(), revocation: RevocationPolicy = RevocationPolicy(),
    conversion: ConversionPolicy = ConversionPolicy(), maxCommandAge: Duration = defaultMaxCommandAge,
    operators: Set<String> = defaultOperators
  ) {
    self.policy = policy
    self.limits = limits
    self.regions = regions
    self.numberOverrides = numberOverrides
    self.apps = apps
    self.onUnknown = onUnknown
    self.retention = retention
    self.inboxRetention = inboxRetention
    self.proof = proof
    self.revocation = revocation
    self.conversion = conversion
    self.maxCommandAge = maxCommandAge
    self.operators = operators
  }

  /// The rules for verifications of an app.
  func policy(of app: AppProfile) -> VerificationPolicy {
    var policy = policy
    if let gaps = app.resendGaps { policy.resendGaps = gaps }
    return policy
  }
}

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

/// Failure of the coordinator itself, as opposed to an `APIError`, which is a caller's.
public struct CoordinationError: Error, Sendable, CustomStringConvertible {
  /// The kind of error.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String { case configuration }
    private let kind: Kind

    /// The configuration is wrong; the message says where and how to fix it.
    public static let configuration = Code(kind: .configuration)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// Safe to log.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
