import JobEngine
import Revocation
import ServiceRuntime

/// Takes `apple.revoke` jobs from the queue, has Apple revoke the tokens, and reports the outcome.
@main struct RevocationWorker {
  static func main() async {
    let process = ProcessDescription(
      name: "revocation-worker",
      summary: "Revokes tokens of Sign in with Apple: takes jobs from the queue apple.revoke.")
    await ProcessMain.run(process) { (configuration: RevocationWorkerConfiguration, context: ServiceContext) in
      try await configuration.worker.ledger.waitForServer(context)
      let revoker = try TokenRevoker(configuration, clock: context.clock)
      return [
        try await WorkerService(
          handler: revoker.handler, lanes: revoker.lanes, settings: configuration.worker,
          common: configuration.common, context: context, finish: revoker.shutdown)
      ]
    }
  }
}
