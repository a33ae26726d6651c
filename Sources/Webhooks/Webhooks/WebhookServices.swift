import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
public import ServiceRuntime

/// Wires a webhook-worker.
public enum WebhookServices {
  /// Opens the database and makes the services, in the order in which they start.
  ///
  /// - Throws: `StartError` when the database cannot be opened.
  public static func make(
    _ configuration: WebhookWorkerConfiguration, _ context: ServiceContext
  ) async throws -> [any Service] {
    guard let keys = configuration.keys else {
      throw StartError(.configuration, "\(WebhookWorkerConfiguration.keysFile) is required", hint: nil)
    }
    let checkValues = CheckValue.all(keys, file: WebhookWorkerConfiguration.keysFile)
    context.runtime.add { report in
      report.queues += Topology.Queues.webhooks
      report.guarded?.checkValues += checkValues
    }
    let services = try await EngineServices.open(configuration.service, configuration.engine, context)
    let parts = WebhookParts(
      rules: configuration.rules, secrets: WebhookSecrets(ring: keys), metrics: WebhookMetrics(context.metrics),
      clock: services.clock, logger: context.logger, wakes: Wakes())
    let engine = try await services.begin(
      FlowRegistry([WebhookFlow(parts: parts)]), EngineMetrics(context.metrics, of: "webhooks"))
    let dispatcher = Dispatcher(
      DeliveryStore(store: engine.store) { Hexadecimal.encode(SecureRandom.bytes(8)) }, parts,
      monotonic: context.clocks.monotonic, logger: context.logger,
      mayWork: { [attendance = services.attendance] in attendance.health == .ok },
      send: try sender(parts))
    context.health.register("webhookKeys") { dispatcher.health }
    return try await services.services(engine, MemberFacts(secrets: checkValues)) + [dispatcher]
  }

  private static func sender(_ parts: WebhookParts) throws -> Dispatcher.Send {
    do throws(TransportError) {
      let network = try WebhookNetwork(parts.rules, parts.secrets, clock: parts.clock)
      return { attempt in await network.send(attempt) }
    } catch {
      throw StartError(
        .configuration, "the HTTP client of webhooks cannot be made: \(error)", hint: "see webhooks.caFile")
    }
  }
}
