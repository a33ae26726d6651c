public import CommandEngine
import CountersignCryptography
public import CountersignMessages
import CountersignTelemetry
import NumberRules
public import PhoneNumbers
import Projects
public import ServiceRuntime

/// The coordinator's configuration. `Config/coordinator.json5` explains each key.
public struct CoordinatorConfiguration: ProcessConfiguration {
  public let common: CommonConfiguration
  public let database: DatabaseSettings
  /// Pepper of new codes.
  public let pepper: Pepper?
  /// Pepper of codes made before the last change.
  public let previousPepper: Pepper?
  public let rules: CoordinatorRules
  let projects: ConfigurationDirectory<[String: AppProfile]>?
  /// Deliveries taken from each queue ahead.
  public let prefetch: Int
  /// Interval between rounds of the maintenance.
  public let maintenanceInterval: Duration

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8080)
    database = DatabaseSettings(
      section.section("database"), of: "coordinator", defaultPath: "/var/lib/countersign/coordinator.sqlite")
    pepper = Self.pepper(
      section, "pepperFile",
      section.requiredSecretFile(
        "pepperFile", "The secret that codes are made from: make one with 'openssl rand -base64 32'."
      ).reveal())
    previousPepper = Self.pepper(
      section, "previousPepperFile",
      section.secretFile("previousPepperFile", "The pepper before the last change, for an hour after it.")?.reveal())
    var rules = CoordinatorRules(section)
    projects = Self.projects(section, &rules)
    self.rules = rules
    if rules.allApps.isEmpty { section.warning("apps", "is empty, so no verification can be started") }
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

  private static func projects(
    _ section: ConfigurationSection, _ rules: inout CoordinatorRules
  ) -> ConfigurationDirectory<[String: AppProfile]>? {
    let key = ProjectsDirectory.key
    ProjectsDirectory.refuseFormerKey(section)
    guard let path = section.path(key, "The directory with the file ID.json5 of each project, for apps with codes.")
    else { return nil }
    let directory = ConfigurationDirectory<[String: AppProfile]>.apps(
      path, besides: rules.apps.keys, of: "the coordinator's configuration")
    rules.projectApps = LiveValue(ProjectApps(directory.contents(section, key)))
    return directory
  }

  func describe(_ report: inout RuntimeReport) {
    report.regions = rules.regions.allowed.sorted()
    report.apps = rules.allApps.mapValues(\.verification.rawValue)
    report.isDevelopment = rules.isDevelopment
    report.queues += [Topology.Queues.commands, Topology.Queues.results]
    report.guarded?.checkValues += peppers
  }

  var peppers: [CheckValue] {
    [pepper?.checkValue(isUsed: true), previousPepper?.checkValue(isUsed: false)].compactMap { $0 }
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
  public var policy = VerificationPolicy()
  public var limits = Limits()
  public var regions: RegionRules
  /// Corrections for numbers that libphonenumber does not know yet.
  public var numberOverrides = NumberOverrides.none
  /// Apps of the coordinator's own configuration, by ID.
  public var apps: [String: AppProfile]
  var projectApps: LiveValue<ProjectApps>?
  /// Action of workers when it is unknown whether an SMS was sent. A repetition carries the same code, so it does no
  /// harm.
  public var onUnknown = OnUnknown.resend
  /// Time after its end for which a verification can still be queried.
  public var retention = Duration.seconds(86_400)
  /// Time for which a redelivered command gets the same reply.
  public var inboxRetention = Duration.seconds(3600)
  public var proof = ProofPolicy()
  public var revocation = RevocationPolicy()
  public var conversion = ConversionPolicy()
  /// Maximum age of a `verification.start` or `app.verify` that is carried out.
  public var maxCommandAge = defaultMaxCommandAge
  /// The users of the broker that may send operators' commands.
  public var operators = defaultOperators
  /// The users of the broker that speak for the internet: they reach no app whose callers are trusted.
  public var gateways = defaultGateways
  /// Whether it serves developers and tests, and no users.
  public var isDevelopment = false

  public static let defaultOperators: Set<String> = ["operator"]
  public static let defaultGateways: Set<String> = [Topology.Users.gateway]

  /// Apps give up after ten to thirty seconds, and their users ask again.
  public static let defaultMaxCommandAge = Duration.seconds(30)

  var engine: EngineRules {
    EngineRules(
      commandQueue: Topology.Queues.commands, reportQueue: Topology.Queues.results, inboxRetention: inboxRetention,
      maxCommandAge: maxCommandAge, operators: operators)
  }

  /// None is in both places.
  var allApps: [String: AppProfile] { apps.merging(projectApps?.current.all ?? [:]) { own, _ in own } }

  func profile(_ app: String) -> AppProfile? { apps[app] ?? projectApps?.current.all[app] }

  func policy(of app: AppProfile) -> VerificationPolicy {
    var policy = policy
    if let gaps = app.resendGaps { policy.resendGaps = gaps }
    return policy
  }
}

extension CoordinatorRules {
  init(_ section: ConfigurationSection) {
    let verification = section.section("verification")
    let retention = verification.seconds(
      "retentionSeconds", default: .seconds(86_400), in: .seconds(600)...(.seconds(90 * 86_400)),
      "How long a verification that is over can still be asked about.")
    let policy = VerificationPolicy(verification)
    let limits = Limits(section.section("limits"))
    let regions = RegionRules(section.section("regions"))
    let numberOverrides = NumberOverrides.read(section)
    self.init(regions: regions, apps: AppProfile.read(section))
    (self.policy, self.limits, self.numberOverrides, self.retention) = (policy, limits, numberOverrides, retention)
    let repetition = verification.word(
      "onUnknown", default: Repetition.resend,
      "Action of a worker when it is unknown whether an SMS was sent: resend it, with the same code, or report.")
    onUnknown = repetition == .resend ? .resend : .report
    inboxRetention = section.section("inbox").seconds(
      "retentionSeconds", default: .seconds(3600), in: .seconds(60)...(.seconds(7 * 86_400)),
      "How long a command that comes again under its message_id is answered with the same reply.")
    proof = ProofPolicy(section.section("proof"))
    revocation = RevocationPolicy(section.section("revocation"))
    conversion = ConversionPolicy(section.section("conversion"))
    maxCommandAge = section.section("commands").seconds(
      "maxAgeSeconds", default: Self.defaultMaxCommandAge, in: .seconds(1)...(.seconds(86_400)),
      "How old a verification.start or app.verify may be, by its timestamp, that is carried out.")
    operators = Set(
      section.strings(
        "operators", default: Self.defaultOperators.sorted(),
        "Users of the broker whose commands for operators are carried out: conversion.list, conversion.lift, number.forget."
      ))
    gateways = Set(
      section.strings(
        "gateways", default: Self.defaultGateways.sorted(),
        "Users of the broker that are gateways: no app whose callers are trusted is reached through them."))
    isDevelopment = section.bool(
      "development", default: false,
      "true: limits can be emptied, and apps whose callers are trusted are reached over HTTP. Never where users are served."
    )
    if isDevelopment {
      section.warning(
        "development", "is true: apps whose callers are trusted are open to everybody who reaches the gateway")
    }
  }
}

private enum Repetition: String, CaseIterable {
  case resend, report
}

/// Failure of the coordinator itself, as opposed to an `APIError`, which is a caller's: its configuration is wrong. The
/// message says where and how to fix it.
struct CoordinationError: Error, CustomStringConvertible {
  /// Safe to log.
  let message: String

  var description: String { message }
}
