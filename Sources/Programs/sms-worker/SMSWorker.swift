import CountersignMessages
import JobEngine
import SMS
import ServiceRuntime

/// Takes `sms.dispatch` jobs from the queue, sends each through a provider, and reports what became of it.
@main struct SMSWorker {
  static func main() async {
    let process = ProcessDescription(
      name: "sms-worker",
      summary: "Sends short messages: takes jobs from the queue sms.dispatch (and sms.bulk), hands each to a provider.")
    await ProcessMain.run(process) { (configuration: SMSWorkerConfiguration, context: ServiceContext) in
      let forwarder = try await ReceiptForwarder(for: configuration, context)
      let dispatcher = try SMSDispatcher(
        configuration, keys: configuration.common.keys, sink: forwarder, log: context.log, clock: context.clock)
      let codes = try await WorkerService(
        handler: dispatcher.handler, lanes: dispatcher.lanes, settings: configuration.worker,
        common: configuration.common, context: context,
        adjust: {
          $0.rules.minimumCallTime = configuration.minimumValidity
          $0.matchedLanes = configuration.lanesMatchedByReference
        }, finish: { if configuration.bulk == nil { await dispatcher.shutdown() } })
      // They share the lanes' sessions and connections, which are closed when both have ended.
      let jobs: any Service =
        if let bulk = try await bulk(dispatcher, configuration, context) {
          ServicePair(name: "jobs", codes, bulk, finish: dispatcher.shutdown)
        } else {
          codes
        }
      let receipts = try dispatcher.receiptService(configuration.common.broker, context)
      // They stop in the reverse order: jobs first, then the sessions that they need, then what takes the sessions' receipts.
      let before: [(any Service)?] = [forwarder, receipts]
      return before.compactMap { $0 } + dispatcher.services as [any Service] + [jobs]
    }
  }

  /// Takes the messages that can wait from a queue of their own, by a share of the same lanes.
  private static func bulk(
    _ dispatcher: SMSDispatcher, _ configuration: SMSWorkerConfiguration, _ context: ServiceContext
  ) async throws -> WorkerService<SMSJobHandler>? {
    guard let bulk = configuration.bulk else { return nil }
    return try await WorkerService(
      handler: dispatcher.handler, queue: Topology.Queues.smsBulk, lanes: dispatcher.bulkLanes,
      settings: configuration.worker, prefetch: bulk.prefetch, common: configuration.common, context: context,
      prefix: "bulk.",
      adjust: {
        $0.rules.minimumCallTime = configuration.minimumValidity
        $0.matchedLanes = configuration.lanesMatchedByReference
        // A backlog waits here rather than in circles through the delay step.
        $0.rules.sharedSlotWait = .seconds(20)
      })
  }
}
