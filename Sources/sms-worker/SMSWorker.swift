import SMSDispatch
import ServiceRuntime
import WorkerRuntime

/// Takes `sms.dispatch` jobs from the queue, sends each through a provider, and reports what became of it.
@main struct SMSWorker {
  static func main() async {
    let process = ProcessDescription(
      name: "sms-worker",
      summary: "Sends short messages: takes jobs from the queue sms.dispatch, hands each to a provider.")
    await ProcessMain.run(process) { (configuration: SMSWorkerConfiguration, context: ServiceContext) in
      let forwarder = ReceiptForwarder(for: configuration, context)
      let dispatcher = try SMSDispatcher(
        configuration, keys: configuration.common.keys, sink: forwarder, log: context.log, clock: context.clock)
      let worker = try await WorkerService(
        handler: dispatcher.handler, lanes: dispatcher.lanes, settings: configuration.worker,
        common: configuration.common, context: context,
        adjust: { $0.rules.minimumCallTime = configuration.minimumValidity }, finish: dispatcher.shutdown)
      let receipts = dispatcher.receiptService(configuration.common.broker, context)
      // They stop in the reverse order: jobs first, then the sessions that they need, then what takes the sessions' receipts.
      let optional: [(any Service)?] = [forwarder, receipts]
      return optional.compactMap { $0 } + dispatcher.services as [any Service] + [worker]
    }
  }
}
