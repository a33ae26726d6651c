import ServiceRuntime
import Webhooks

@main
struct WebhookWorker {
  static func main() async {
    let process = ProcessDescription(
      name: "webhook-worker", summary: "Sends events to services by HTTP, signed, in order, until they are taken.")
    await ProcessMain.run(process) { (configuration: WebhookWorkerConfiguration, context) in
      try await WebhookServices.make(configuration, context)
    }
  }
}
