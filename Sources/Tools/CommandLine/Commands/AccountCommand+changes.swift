import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

extension AccountCommand {
  static let disable = CommandEntry(
    "disable", "Disables a user: no sign-in, no new tokens.",
    discussion: "An ID token of before is good for up to an hour where nobody asks accounts.", options: Target.self
  ) { target, context in
    try await target.change(context) { $0.disabled = true }
  }

  static let enable = CommandEntry("enable", "Enables a user again.", options: Target.self) { target, context in
    try await target.change(context) { $0.disabled = false }
  }

  static let signOut = CommandEntry(
    "sign-out", "Ends all sessions of a user, who can sign in again.", options: Target.self
  ) { target, context in
    let now = context.clock.now()
    return try await target.change(context) { $0.validSince = now }
  }

  struct ClaimsOptions: CommandOptions {
    let target: Target
    let claims: String?

    init(_ reader: OptionReader) {
      target = Target(reader)
      claims = reader.optionalOperand("JSON", "Object that takes the place of all claims: {} removes them.")
    }
  }

  static let claims = CommandEntry(
    "claims", "Shows or sets the claims that the ID tokens of a user have beside the usual ones.",
    discussion: "Tokens have them from the next one on: the app gets one by itself within an hour, or asks for it.",
    options: ClaimsOptions.self
  ) { options, context in
    guard let claims = options.claims else {
      let text = try await options.target.account(context).customAttributes ?? "{}"
      let json = (try? JSONReader.commandLine.value(of: text.utf8)) ?? .null
      return CommandOutput(text: text, json: .object(["claims": json]))
    }
    guard let json = try? JSONReader(maxBytes: InputFile.maxBytes).value(of: claims.utf8), json.members != nil else {
      throw CommandLineError(.badInput, #"JSON must be an object: {"role": "editor"}"#)
    }
    return try await options.target.change(context) { $0.customAttributes = claims }
  }

  struct DeleteOptions: CommandOptions {
    let target: Target
    let isForced: Bool

    init(_ reader: OptionReader) {
      isForced = reader.flag("force", "Deletes a user that is not disabled as well.")
      target = Target(reader)
    }
  }

  static let delete = CommandEntry(
    "delete", "Deletes users, with all that every process knows about them. It cannot be undone.",
    discussion: "Users that are not disabled are refused without --force.", options: DeleteOptions.self
  ) { options, context in
    let localID = options.target.localID
    var command = RemoveAccounts(project: try options.target.project.id(), localIDs: [localID])
    command.force = options.isForced
    let reply = try await context.sendAsOperator(command)
    let text = reply.refused.first.map { "\(localID) stays: \($0.message)" } ?? "\(localID) is deleted"
    return CommandOutput(text: text, reply: reply, exitCode: reply.refused.isEmpty ? .success : .failure)
  }
}
