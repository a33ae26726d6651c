import CommandEngine
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Projects
import SQLite
public import ServiceRuntime

/// Wires accounts.
public enum AccountsServices {
  /// Opens the database and makes the services, in the order in which they start.
  ///
  /// - Throws: `StartError` when the database cannot be opened.
  public static func make(
    _ configuration: AccountsConfiguration, _ context: ServiceContext
  ) async throws -> [any Service] {
    let providers = try providers(configuration, context)
    guard let secrets = configuration.secrets,
      let parts = AccountParts(
        configuration.rules, secrets, providers: providers, providerSecrets: configuration.providers.secrets,
        metrics: context.metrics, logger: context.logger)
    else {
      throw StartError(
        .configuration, "pepperFile, keysFile, tokenKeysFile and sealingKeysFile are required", hint: nil)
    }
    let flows = AccountFlows(parts)
    context.runtime.add { configuration.describe(&$0, secrets) }
    let services = try await EngineServices.open(configuration.service, configuration.rules.engine, context)
    let engine = try await services.begin(flows.registry, EngineMetrics(context.metrics, of: "accounts"))
    context.health.register("signingKeys") { parts.idTokens.keys.health }
    context.health.register("cookieKeys") { parts.cookies.keys.health }
    warn(configuration, context.logger)
    let projects = FileWatcher.projects(configuration.projects.directory, configuration.rules.projects, context)
    return try await services.services(engine, facts(secrets, configuration)) + [projects]
  }

  private static func providers(
    _ configuration: AccountsConfiguration, _ context: ServiceContext
  ) throws -> IdentityProviders {
    do throws(TransportError) {
      return try configuration.providers.make {
        ProviderContext(
          network: $0, clock: context.clocks.monotonic, log: context.logger, metrics: ProviderMetrics(context.metrics),
          secrets: $1, grants: configuration.secrets.map { GrantSealer($0.tokenKeys) },
          isDevelopment: configuration.rules.isDevelopment)
      }
    } catch {
      throw StartError(.configuration, "the way to identity providers cannot be opened: \(error)", hint: nil)
    }
  }

  private static func facts(_ secrets: AccountParts.Secrets, _ configuration: AccountsConfiguration) -> MemberFacts {
    let (projects, providers) = (configuration.rules.projects, MemberFacts.digest(configuration.providers.comparable))
    return MemberFacts(secrets: CheckValue.all(secrets.keys, file: "keysFile") + secrets.checkValues) {
      MemberFacts.digest([projects.current, providers] as [Any])
    }
  }

  private static func warn(_ configuration: AccountsConfiguration, _ logger: Logger) {
    if configuration.rules.isDevelopment {
      logger.warning(
        "development is on: tests may delete all accounts",
        [.hint: "set 'development' to false where people have accounts"])
    }
  }
}

extension AccountsConfiguration {
  fileprivate var service: ServiceSettings {
    var settings = ServiceSettings(
      of: "accounts process", .accounts, broker: common.broker, database: database,
      lockQueue: Topology.Queues.accountsCommandsLock,
      reports: "replies")
    settings.prefetch = prefetch
    settings.maintenanceInterval = maintenanceInterval
    return settings
  }
}
