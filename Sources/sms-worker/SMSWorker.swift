import SMSDispatch
import ServiceRuntime

/// Takes `sms.dispatch` jobs from the queue, sends each through a provider, and reports what became of it.
@main struct SMSWorker {
  static func main() async {
    let process = ProcessDescription(
      name: "sms-worker",
      summary: "Sends short messages: takes jobs from the queue sms.dispatch, hands each to a provider.")
    await ProcessMain.run(process) { (configuration: SMSWorkerConfiguration, context: ServiceContext) in
      [try await WorkerService(configuration, context)]
    }
  }
}
