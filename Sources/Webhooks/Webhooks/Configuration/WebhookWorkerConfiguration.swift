import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import SQLite
public import ServiceRuntime

/// Configuration of a `webhook-worker`. `Config/webhook-worker.json5` explains every key.
public struct WebhookWorkerConfiguration: ProcessConfiguration {
  static let keysFile = "webhookKeysFile"
  /// Events of a batch: each loads three keys for each webhook, and a transaction 65,536 at most.
  private static let maxPrefetch = 300

  /// Broker, logs, health, keys, stop.
  public let common: CommonConfiguration
  let database: DatabaseSettings
  /// `nil` when the file is missing or wrong.
  let keys: KeyRing?
  let rules: WebhookRules
  let operators: Set<String>
  let prefetch: Int
  let maintenanceInterval: Duration

  /// Reads the configuration. Problems are reported to the section.
  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8087)
    database = DatabaseSettings(
      section.section("database"), of: "webhook-worker", defaultPath: "/var/lib/countersign/webhooks.sqlite")
    keys = section.keyRing(
      Self.keysFile,
      section.requiredSecretFile(
        Self.keysFile,
        "The keys that the secrets of webhooks are sealed under, a JWK set: the first seals, all open."))
    rules = WebhookRules(section.section("webhooks"))
    operators = Set(
      section.strings(
        "operators", default: [Topology.Users.operator],
        "Users of the broker whose commands are carried out: those about webhooks are for operators."))
    prefetch = section.integer(
      "prefetch", default: 256, in: 1...Self.maxPrefetch, "Messages that are taken from each queue ahead.")
    maintenanceInterval = section.seconds(
      "maintenanceSeconds", default: .seconds(1), in: .milliseconds(100)...(.seconds(60)),
      "How often what is left over or old is looked for.")
  }

  var engine: EngineRules {
    EngineRules(
      commandQueue: Topology.Queues.webhookCommands, reportQueue: Topology.Queues.webhookEvents, operators: operators)
  }

  var service: ServiceSettings {
    var settings = ServiceSettings(
      of: "webhook-worker", .webhooks, broker: common.broker, database: database,
      lockQueue: Topology.Queues.webhookCommandsLock, reports: "events")
    settings.prefetch = prefetch
    settings.maintenanceInterval = maintenanceInterval
    settings.reportsSource = Topology.Exchanges.events
    return settings
  }
}

extension WebhookRules {
  init(_ section: ConfigurationSection) {
    allowed = AllowedAddresses(
      networks: section.networks(
        "allowedNetworks",
        "Networks beside the internet that addresses may lead to: 10.1.0.0/16. 127.0.0.0/8 opens http:// to this machine."
      ))
    caFile = section.path(
      "caFile", "Certificates to trust instead of those of the system, PEM.")
    maxConcurrent = section.integer("maxConcurrent", default: 256, in: 1...1_024, "Requests at a time.")
    maxPerWebhook = section.integer(
      "maxPerWebhook", default: 64, in: 1...256, "Requests at a time to one webhook.")
  }
}
