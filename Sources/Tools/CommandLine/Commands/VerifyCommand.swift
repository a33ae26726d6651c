internal import CountersignMessages
internal import CountersignTelemetry
internal import ServiceRuntime

/// `countersign verify`.
struct VerifyCommand {
  let backend: any OperatorBackend

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    let timeout = try arguments.timeout()
    switch arguments.command.last {
    case "start":
      let reply = try await backend.send(try Self.start(arguments), timeout: try Self.startTimeout(arguments))
      return CommandOutput(text: Self.text(reply), json: JSONValue(encoding: reply))
    case "check":
      let reply = try await backend.send(
        CheckVerification(
          verificationID: try arguments.operand("ID"), code: SecretField(Secret(try arguments.operand("CODE")))),
        timeout: timeout)
      return CommandOutput(text: Self.text(reply), json: JSONValue(encoding: reply))
    case "status":
      let reply = try await backend.send(
        GetVerificationStatus(verificationID: try arguments.operand("ID")), timeout: timeout)
      return CommandOutput(text: Timeline.text(reply), json: JSONValue(encoding: reply))
    default:
      let reply = try await backend.send(
        CancelVerification(verificationID: try arguments.operand("ID")), timeout: timeout)
      return CommandOutput(text: "canceled", json: JSONValue(encoding: reply))
    }
  }

  private static func start(_ arguments: CommandArguments) throws -> StartVerification {
    var command = StartVerification(
      phoneNumber: try arguments.operand("NUMBER"), app: arguments.value("app") ?? "com.example.app",
      languageCode: arguments.value("language"), proof: try proof(arguments),
      client: arguments.value("ip").map { StartVerification.Client(ip: $0) })
    command.region = arguments.value("region")
    return command
  }

  private static func proof(_ arguments: CommandArguments) throws(UsageError) -> StartVerification.Proof? {
    let receipt = arguments.value("receipt")
    switch (receipt, arguments.value("secret"), arguments.value("recaptcha-token")) {
    case (nil, nil, nil): return nil
    case (_, nil, let token?):
      var proof = StartVerification.Proof(recaptchaToken: SecretField(Secret(token)))
      proof.receipt = receipt
      return proof
    case (let receipt?, let secret?, nil):
      return StartVerification.Proof(receipt: receipt, secret: SecretField(Secret(secret)))
    default: throw UsageError("give --receipt with --secret, or --recaptcha-token")
    }
  }

  /// A reCAPTCHA token is assessed before the answer.
  private static func startTimeout(_ arguments: CommandArguments) throws(UsageError) -> Duration {
    guard arguments.value("timeout") == nil, arguments.value("recaptcha-token") != nil else {
      return try arguments.timeout()
    }
    return .seconds(20)
  }

  private static func text(_ reply: VerificationStarted) -> String {
    var lines = [
      "verification ID  \(reply.verificationID)",
      "phone number     \(reply.phoneNumber)",
      "code             \(reply.codeLength) digits, until \(reply.expiresAt.rfc3339)",
      "next SMS         in \(reply.resendAfter) s at the earliest",
    ]
    if reply.testNumber { lines.append("a fictional number: no SMS is sent, its code is in the configuration") }
    if reply.resent { lines.append("the verification was alive already: its code is sent again") }
    return lines.joined(separator: "\n")
  }

  private static func text(_ reply: VerificationApproved) -> String {
    "approved: \(reply.phoneNumber) for \(reply.app) at \(reply.approvedAt.rfc3339)"
  }
}
