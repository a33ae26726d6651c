internal import CountersignMessages
internal import CountersignTelemetry
internal import ServiceRuntime

/// `countersign revoke`.
struct RevokeCommand {
  let backend: any OperatorBackend
  let input: @Sendable () throws(OperationsError) -> [UInt8]
  let watch: OperationWatch

  init(backend: any OperatorBackend, input: @escaping @Sendable () throws(OperationsError) -> [UInt8]) {
    self.backend = backend
    self.input = input
    watch = OperationWatch(backend: backend)
  }

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    let timeout = try arguments.timeout()
    let command = StartRevocation(
      app: arguments.value("app") ?? "com.example.app", clientID: arguments.value("client-id"),
      token: try token(arguments), redirectURI: arguments.value("redirect-uri"), notify: try Self.notice(arguments))
    let reply = try await backend.send(command, timeout: timeout)
    guard !arguments.flag("no-wait") else {
      return CommandOutput(text: Self.text(reply), json: JSONValue(encoding: reply))
    }
    let status = try await watch.wait(for: reply.operationID, within: timeout, timeout: timeout) {
      $0.state != .running
    }
    return CommandOutput(
      text: "\(Self.text(reply))\n\n\(OperationText.text(status))",
      json: JSONValue(encoding: reply).adding("status", JSONValue(encoding: status)),
      exitCode: status.failure == nil ? .success : .failure)
  }

  private func token(_ arguments: CommandArguments) throws -> AppleToken {
    let kinds: [(option: String, kind: AppleToken.Kind)] = [
      ("code", .authorizationCode), ("refresh-token", .refreshToken), ("access-token", .accessToken),
    ]
    let given = kinds.filter { arguments.value($0.option) != nil }
    guard given.count == 1, let (option, kind) = given.first, let value = arguments.value(option) else {
      throw UsageError("give one of --code, --refresh-token and --access-token")
    }
    let text = value == "-" ? String(decoding: try input(), as: UTF8.self).filter { !$0.isWhitespace } : value
    return AppleToken(kind, SecretField(Secret(text)))
  }

  private static func notice(_ arguments: CommandArguments) throws(UsageError) -> StartRevocation.Notice? {
    guard let address = arguments.value("notify") else {
      guard arguments.value("language") == nil, arguments.value("template") == nil else {
        throw UsageError("--language and --template are about the mail: give --notify ADDRESS too")
      }
      return nil
    }
    return StartRevocation.Notice(
      email: address, languageCode: arguments.value("language"), template: arguments.value("template"))
  }

  private static func text(_ reply: OperationStarted) -> String {
    "operation ID  \(reply.operationID)"
      + (reply.repeated ? "\nthe token was given before: this is the operation of that time" : "")
  }
}
