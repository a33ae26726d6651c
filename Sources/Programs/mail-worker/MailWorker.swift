import JobEngine
import Mail
import ServiceRuntime

/// Takes `mail.relay` jobs from the queue, submits each to a mail server, and reports the outcome. Forgets the addresses
/// of `mail.forget` jobs.
@main struct MailWorker {
  static func main() async {
    let process = ProcessDescription(
      name: "mail-worker",
      summary: "Sends mail: takes jobs from the queue mail.relay, signs each and submits it to a mail server.")
    await ProcessMain.run(process) { (configuration: MailWorkerConfiguration, context: ServiceContext) in
      try await configuration.worker.ledger.waitForServer(context, parts: configuration.suppressions.parts)
      let relay = try await MailRelay(configuration, logger: context.logger, metrics: context.metrics)
      return [
        try await WorkerService(
          handler: relay.handler, lanes: relay.lanes, settings: configuration.worker, common: configuration.common,
          context: context, adjust: { $0.rules.minCallTime = configuration.minValidity },
          finish: relay.shutdown),
        // Services stop from the last to the first: this one ends before the list is closed.
        try await WorkerService(
          handler: relay.forgetting, queue: WorkerQueue(prefix: "forget."), lanes: ForgetJobHandler.lanes,
          settings: configuration.worker, common: configuration.common, context: context),
      ]
    }
  }
}
