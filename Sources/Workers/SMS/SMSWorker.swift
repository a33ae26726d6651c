import CountersignMessages
import JobEngine
import ServiceRuntime

/// The process `sms-worker`: takes `sms.dispatch` jobs from the queue, sends each through a provider, and reports the
/// outcome.
public enum SMSWorker {
  /// Runs the process to its end.
  ///
  /// - Parameter providers: registry of the providers that lanes can be configured for.
  public static func run(providers: [any SMSProvider.Type] = SMSProviders.all) async -> Never {
    let process = ProcessDescription(
      name: "sms-worker",
      summary: "Sends short messages: takes jobs from the queue sms.dispatch (and sms.bulk), hands each to a provider.")
    await ProcessMain.run(
      process, configuration: { SMSWorkerConfiguration($0, providers: providers) },
      services: { try await services($0, $1) })
  }

  /// Services of the process in the order in which they start. They stop in the reverse order: first the jobs, then the
  /// sessions that the jobs need, then the receivers of the sessions' delivery reports.
  private static func services(
    _ configuration: SMSWorkerConfiguration, _ context: ServiceContext
  ) async throws -> [any Service] {
    try await configuration.worker.ledger.waitForServer(context)
    let forwarder = try await SessionReportForwarder(for: configuration, context)
    let dispatcher = try SMSDispatcher(
      configuration, keys: configuration.common.keys, sink: forwarder, logger: context.logger, clock: context.clock)
    let jobs = try await jobs(dispatcher, configuration, context)
    let reports = try configuration.reports.taking.map { taking throws(StartError) in
      try ReportService(taking, readers: dispatcher.reportReaders, configuration.common.broker, context)
    }
    context.runtime.add { configuration.describe(&$0) }
    let receivers: [(any Service)?] = [forwarder, reports]
    return receivers.compactMap { $0 } + dispatcher.services + [jobs]
  }

  /// They share the lanes' connections, which close when both have ended.
  private static func jobs(
    _ dispatcher: SMSDispatcher, _ configuration: SMSWorkerConfiguration, _ context: ServiceContext
  ) async throws -> any Service {
    let codes = try await WorkerService(
      handler: dispatcher.handler, lanes: dispatcher.lanes, settings: configuration.worker,
      common: configuration.common, context: context,
      adjust: {
        $0.rules.minCallTime = configuration.minValidity
        $0.matchedLanes = configuration.lanesMatchedByReference
      }, finish: { if configuration.bulk == nil { await dispatcher.shutdown() } })
    guard let bulk = try await bulk(dispatcher, configuration, context) else { return codes }
    return ServicePair(name: "jobs", codes, bulk, finish: dispatcher.shutdown)
  }

  /// On a queue of their own and with a share of the same lanes.
  private static func bulk(
    _ dispatcher: SMSDispatcher, _ configuration: SMSWorkerConfiguration, _ context: ServiceContext
  ) async throws -> WorkerService<SMSJobHandler>? {
    guard let bulk = configuration.bulk else { return nil }
    return try await WorkerService(
      handler: dispatcher.handler,
      queue: WorkerQueue(name: Topology.Queues.smsBulk, prefetch: bulk.prefetch, prefix: "bulk."),
      lanes: dispatcher.bulkLanes, settings: configuration.worker, common: configuration.common, context: context,
      adjust: {
        $0.rules.minCallTime = configuration.minValidity
        $0.matchedLanes = configuration.lanesMatchedByReference
        // A backlog waits here instead of circling through retry delays.
        $0.rules.sharedSlotWait = .seconds(20)
      })
  }
}
