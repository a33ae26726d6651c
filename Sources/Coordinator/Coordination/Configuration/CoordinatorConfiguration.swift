import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
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
