import CountersignEncoding
import CountersignMessages
import ServiceRuntime

enum AppCommand {
  static let group = CommandEntry("app", "Proves an app by push.", [entry])

  struct Options: CommandOptions {
    let app, ip: String?
    let environment: PushEnvironment?
    let noWait: Bool
    let token: String

    init(_ reader: OptionReader) {
      app = reader.text("app", "APP", "Bundle ID of the app: com.example.app unless given.")
      environment = reader.word(
        "environment", "WORD", "APNs environment of the token: sandbox, production, or unknown, the default.")
      ip = reader.text("ip", "ADDRESS", "Address of the client, for its limits.")
      noWait = reader.flag("no-wait", "Do not wait for the outcome.")
      token = reader.operand("TOKEN", "Device token that the device got from Apple, in hexadecimal.")
    }
  }

  static let entry = CommandEntry(
    "verify", "Requests a receipt whose secret is pushed to a device, and shows the outcome of the push.",
    discussion: """
      The device gets the secret, which completes:
        countersign verify start NUMBER --app APP --receipt RECEIPT --secret SECRET
      """, options: Options.self
  ) { options, context in
    let backend = try context.backend()
    let command = VerifyApp(
      app: options.app ?? "com.example.app", deviceToken: options.token, environment: options.environment,
      client: options.ip.map { StartVerification.Client(ip: $0) })
    let reply = try await backend.send(command, timeout: context.timeout)
    guard !options.noWait else { return CommandOutput(text: text(reply), reply: reply) }
    let status = try await OperationWatch(backend: backend).wait(
      for: reply.receipt, within: .seconds(reply.suggestedTimeout), timeout: context.timeout, until: isDecided)
    return CommandOutput(
      text: "\(text(reply))\n\n\(OperationText.text(status))",
      json: JSONValue(encoding: reply).adding("status", JSONValue(encoding: status)),
      exitCode: status.state == .failed ? .failure : .success)
  }

  private static func isDecided(_ status: OperationStatus) -> Bool {
    status.state != .running
      || status.timeline.contains { $0.event.hasPrefix("push.") && $0.event != "push.queued" }
  }

  private static func text(_ reply: AppVerifying) -> String {
    """
    receipt    \(reply.receipt)
    fall back  to reCAPTCHA after \(reply.suggestedTimeout) s without a push
    """
  }
}
