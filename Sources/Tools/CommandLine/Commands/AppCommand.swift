internal import CountersignMessages
internal import ServiceRuntime

/// `countersign app`.
struct AppCommand {
  let backend: any OperatorBackend
  let watch: OperationWatch

  init(backend: any OperatorBackend) {
    self.backend = backend
    watch = OperationWatch(backend: backend)
  }

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    let timeout = try arguments.timeout()
    let command = VerifyApp(
      app: arguments.value("app") ?? "com.example.app", deviceToken: try arguments.operand("TOKEN"),
      environment: try arguments.word("environment"),
      client: arguments.value("ip").map { StartVerification.Client(ip: $0) })
    let reply = try await backend.send(command, timeout: timeout)
    guard !arguments.flag("no-wait") else {
      return CommandOutput(text: Self.text(reply), json: JSONValue(encoding: reply))
    }
    let status = try await watch.wait(
      for: reply.receipt, within: .seconds(reply.suggestedTimeout), timeout: timeout, until: Self.isDecided)
    return CommandOutput(
      text: "\(Self.text(reply))\n\n\(OperationText.text(status))",
      json: JSONValue(encoding: reply).adding("status", JSONValue(encoding: status)),
      exitCode: status.state == .failed ? .failure : .success)
  }

  /// Whether it is known what became of the push.
  private static func isDecided(_ status: OperationStatus) -> Bool {
    status.state != .running || status.timeline.contains { $0.event.hasPrefix("push.") && $0.event != "push.queued" }
  }

  private static func text(_ reply: AppVerifying) -> String {
    """
    receipt    \(reply.receipt)
    fall back  to reCAPTCHA after \(reply.suggestedTimeout) s without a push
    """
  }
}
