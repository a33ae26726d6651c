internal import CountersignMessages
internal import ServiceRuntime

/// `countersign forget`.
struct ForgetCommand {
  let backend: any OperatorBackend

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    let forgotten = try await backend.sendAsOperator(
      ForgetNumber(phoneNumber: try arguments.operand("NUMBER")), timeout: try arguments.timeout())
    return CommandOutput(text: Self.text(forgotten), json: JSONValue(encoding: forgotten))
  }

  private static func text(_ forgotten: NumberForgotten) -> String {
    """
    forgotten by the coordinator:
      verifications          \(forgotten.verifications), of which \(forgotten.canceled) lived and were canceled
      recorded replies       \(forgotten.replies)
      starts that waited     \(forgotten.waiting)
      counts of limits       \(forgotten.counts)
    messages that are under way, dead letters and what providers keep are not its: see SECURITY.md, "Forgetting a number"
    """
  }
}
