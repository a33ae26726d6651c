internal import CountersignMessages
internal import ServiceRuntime

/// `countersign operation`.
struct OperationCommand {
  let backend: any OperatorBackend

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    let reply = try await backend.send(
      GetOperationStatus(operationID: try arguments.operand("ID")), timeout: try arguments.timeout())
    return CommandOutput(text: OperationText.text(reply), json: JSONValue(encoding: reply))
  }
}
