import Push
import ServiceRuntime

/// Takes `push.verify` and `recaptcha.assess` jobs from their queues, pushes or has tokens assessed, and reports the
/// outcome.
@main struct PushWorker {
  static func main() async {
    let process = ProcessDescription(
      name: "push-worker",
      summary:
        "Proves apps: pushes secrets to devices (queue push.verify), has reCAPTCHA tokens assessed (recaptcha.assess).")
    await ProcessMain.run(process) { (configuration: PushWorkerConfiguration, context: ServiceContext) in
      try await PushVerifier(configuration, context).services(configuration, context)
    }
  }
}
