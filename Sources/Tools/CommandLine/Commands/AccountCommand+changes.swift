import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

extension AccountCommand {
  enum Disable: OperatorCommand {
    static let syntax = named(
      "disable", "Disables a user: no sign-in, no new tokens.",
      discussion: "An ID token of before is good for up to an hour where nobody asks accounts.")

    static func run(_ options: TargetOptions, in context: CommandContext) async throws -> CommandOutput {
      try await options.target.change(context) { $0.disabled = true }
    }
  }

  enum Enable: OperatorCommand {
    static let syntax = named("enable", "Enables a user again.")

    static func run(_ options: TargetOptions, in context: CommandContext) async throws -> CommandOutput {
      try await options.target.change(context) { $0.disabled = false }
    }
  }

  enum SignOut: OperatorCommand {
    static let syntax = named("sign-out", "Ends all sessions of a user, who can sign in again.")

    static func run(_ options: TargetOptions, in context: CommandContext) async throws -> CommandOutput {
      let now = context.clock.now()
      return try await options.target.change(context) { $0.validSince = now }
    }
  }

  enum Claims: OperatorCommand {
    static let syntax = named(
      "claims", "Shows or sets the claims that the ID tokens of a user have beside the usual ones.",
      discussion: "Tokens have them from the next one on: the app gets one by itself within an hour, or asks for it.")

    struct Options: CommandOptions {
      let target: Target
      let claims: String?

      init(_ reader: OptionReader) {
        target = Target(reader)
        claims = reader.optionalOperand("JSON", "Object that takes the place of all claims: {} removes them.")
      }
    }

    static func run(_ options: Options, in context: CommandContext) async throws -> CommandOutput {
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
  }

  enum Delete: OperatorCommand {
    static let syntax = named(
      "delete", "Deletes users, with all that every process knows about them. It cannot be undone.",
      discussion: "Users that are not disabled are refused without --force.")

    struct Options: CommandOptions {
      let target: Target
      let isForced: Bool

      init(_ reader: OptionReader) {
        isForced = reader.flag("force", "Deletes a user that is not disabled as well.")
        target = Target(reader)
      }
    }

    static func run(_ options: Options, in context: CommandContext) async throws -> CommandOutput {
      let localID = options.target.localID
      var command = RemoveAccounts(project: try options.target.project.id(), localIDs: [localID])
      command.force = options.isForced
      let reply = try await context.sendAsOperator(command)
      let text = reply.refused.first.map { "\(localID) stays: \($0.message)" } ?? "\(localID) is deleted"
      return CommandOutput(text: text, reply: reply, exitCode: reply.refused.isEmpty ? .success : .failure)
    }
  }
}
