import CountersignEncoding
import CountersignMessages
import ServiceRuntime

enum ForgetCommand {
  static let entry = CommandEntry(
    "forget", "Erases everything the coordinator holds about a phone number.",
    discussion:
      "A verification in progress is canceled first. Reports how much was erased, and where other copies may be.",
    operand: .required("NUMBER", "Number in E.164: +14155550123.")
  ) { number, context in
    let forgotten = try await context.sendAsOperator(ForgetNumber(phoneNumber: number))
    return CommandOutput(text: text(forgotten), reply: forgotten)
  }

  private static func text(_ forgotten: NumberForgotten) -> String {
    """
    erased by the coordinator:
      verifications          \(forgotten.verifications), of which \(forgotten.canceled) were in progress and are canceled
      recorded replies       \(forgotten.replies)
      starts that waited     \(forgotten.waiting)
      counts of limits       \(forgotten.counts)
    messages in transit, dead letters and the providers' records remain: see SECURITY.md, "Forgetting a number"
    """
  }
}
