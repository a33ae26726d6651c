import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import Projects
import SQLite
public import ServiceRuntime
import Synchronization

/// Wires the coordinator.
public enum CoordinatorServices {
  /// Opens the database and makes the services, in the order in which they start.
  ///
  /// - Throws: ``StartError`` when the database cannot be opened.
  public static func make(
    _ configuration: CoordinatorConfiguration, _ context: ServiceContext
  ) async throws -> [any Service] {
    guard let pepper = configuration.pepper, let keys = configuration.common.keys else {
      throw CoordinationError(message: "pepperFile and keysFile are required")
    }
    let rules = configuration.rules
    context.runtime.add { configuration.describe(&$0) }
    let parts = try await EngineServices.open(configuration.service, rules.engine, context)
    let metrics = CoordinatorMetrics(context.metrics)
    let areCommandsStored = CommandsStored()
    let conversion = conversion(configuration, metrics, parts, areCommandsStored, context)
    let fictional = FictionalNumbers(rules)
    let secrets = Flows.Secrets(
      codes: VerificationCodes(
        current: pepper, previous: configuration.previousPepper, length: rules.policy.codeLength),
      hashes: KeyedHashes(current: pepper, previous: configuration.previousPepper), keys: keys)
    let flows = Flows(
      rules, secrets, metrics: metrics, logger: context.logger, conversion: conversion, fictional: fictional)
    let engine = try await parts.begin(flows.registry, EngineMetrics(context.metrics))
    areCommandsStored.follow(engine.health)
    return try await parts.services(engine, facts(configuration, keys, fictional))
      + watch(configuration, fictional, context)
  }

  private static func facts(
    _ configuration: CoordinatorConfiguration, _ keys: KeyRing, _ fictional: FictionalNumbers
  ) -> MemberFacts {
    MemberFacts(secrets: CheckValue.all(keys, file: "keysFile") + configuration.peppers) {
      // Numbers of the configuration may be older than those in force. Their codes must not be found from the digest.
      let apps = configuration.rules.allApps.mapValues { app in
        var app = app
        app.fictionalNumbers = [:]
        return app
      }
      return MemberFacts.digest([apps, fictional.all.mapValues { Set($0.keys) }] as [Any])
    }
  }

  private static func conversion(
    _ configuration: CoordinatorConfiguration, _ metrics: CoordinatorMetrics, _ parts: EngineServices,
    _ areCommandsStored: CommandsStored, _ context: ServiceContext
  ) -> ConversionFlow {
    let (publisher, commands) = (parts.publisher, parts.commands)
    return ConversionFlow(
      Conversions(configuration.rules, metrics: metrics.conversion, logger: context.logger),
      startedAt: parts.clock.now(),
      longestSilence: max(ConversionOutages.longestSilence, configuration.maintenanceInterval * 3),
      isShared: parts.storage.isShared
    ) { publisher.isReady && commands.isReady && areCommandsStored.isTrue }
  }

  /// Without a file and a directory nothing can change.
  private static func watch(
    _ configuration: CoordinatorConfiguration, _ fictional: FictionalNumbers, _ context: ServiceContext
  ) -> [any Service] {
    var services: [any Service] = []
    if let file = context.configurationFile {
      services.append(
        FileWatcher.fictionalNumbers(
          file, environment: ProcessInfo.processInfo.environment, fictional, log: context.logger,
          metrics: context.metrics))
    }
    if let directory = configuration.projects, let apps = configuration.rules.projectApps {
      services.append(
        FileWatcher.projects(
          directory, context, previous: { apps.current.byProject }, take: { apps.take(ProjectApps($0)) }))
    }
    return services
  }

  /// Whether changes of commands can be stored, for a flow that is made before the engine.
  private final class CommandsStored: Sendable {
    private let health = Mutex<StorageHealth?>(nil)

    func follow(_ health: StorageHealth) { self.health.withLock { $0 = health } }

    var isTrue: Bool {
      health.withLock { $0.map { !$0.keepsCommandsWaiting(orEnding: .endVerifications) } ?? true }
    }
  }
}

extension CoordinatorConfiguration {
  fileprivate var service: ServiceSettings {
    var settings = ServiceSettings(
      of: "coordinator", .coordinator, broker: common.broker, database: database,
      lockQueue: Topology.Queues.commandsLock)
    settings.prefetch = prefetch
    settings.maintenanceInterval = maintenanceInterval
    return settings
  }
}
