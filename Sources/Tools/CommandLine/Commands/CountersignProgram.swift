internal import CountersignTelemetry
public import ServiceRuntime

/// The program `countersign`, but for its process: arguments in, text out, exit code back.
public struct CountersignProgram: Sendable {
  let streams: ProgramStreams
  let clock: any WallClock
  /// Makes the way to the outside from the options that say where it is.
  let connect: @Sendable (CommandArguments) throws(OperationsError) -> any OperatorBackend

  /// Carries out one command.
  /// - Parameter arguments: without the name of the program.
  /// - Returns: the exit code.
  public func run(_ arguments: [String]) async -> ExitCode {
    let invocation: CommandInvocation
    do {
      invocation = try CountersignSyntax.all.parse(arguments)
    } catch {
      streams.error("countersign: \(TerminalText.lines(error.description))\n")
      return error.exitCode
    }
    switch invocation {
    case .help(let text):
      streams.output(text)
      return .success
    case .run(let arguments): return await run(arguments)
    }
  }

  private func run(_ arguments: CommandArguments) async -> ExitCode {
    do {
      let output = try await carryOut(arguments)
      let text = arguments.flag("json") ? output.json.json() : output.text
      if !text.isEmpty { streams.output(TerminalText.lines(text) + "\n") }
      return output.exitCode
    } catch {
      if arguments.flag("json") { streams.output(TerminalText.lines(Self.json(error).json()) + "\n") }
      streams.error("countersign: \(TerminalText.lines(error.description))\n")
      return error.exitCode
    }
  }

  /// A failure for programs: what the coordinator answered, or a word for what this program ran into.
  private static func json(_ error: OperationsError) -> JSONValue {
    if let apiError = error.apiError { return .object(["error": JSONValue(encoding: apiError)]) }
    return .object(["error": .object(["code": .text(error.code.name), "message": .text(error.description)])])
  }

  private func carryOut(_ arguments: CommandArguments) async throws(OperationsError) -> CommandOutput {
    do {
      return try await dispatch(arguments)
    } catch let error as OperationsError {
      throw error
    } catch let error as UsageError {
      throw OperationsError(.usage, error.message)
    } catch {
      throw OperationsError(.internalError, "unexpected: \(type(of: error))")
    }
  }

  private func dispatch(_ arguments: CommandArguments) async throws -> CommandOutput {
    switch arguments.command.first {
    case "verify": try await VerifyCommand(backend: connect(arguments)).run(arguments)
    case "app": try await AppCommand(backend: connect(arguments)).run(arguments)
    case "revoke": try await RevokeCommand(backend: connect(arguments), input: streams.input).run(arguments)
    case "operation": try await OperationCommand(backend: connect(arguments)).run(arguments)
    case "conversion": try await ConversionCommand(backend: connect(arguments)).run(arguments)
    case "forget": try await ForgetCommand(backend: connect(arguments)).run(arguments)
    case "enqueue":
      try await EnqueueCommand(backend: connect(arguments), clock: clock, input: streams.input).run(arguments)
    case "mail": try await MailCommand(backend: connect(arguments), clock: clock).run(arguments)
    case "topology":
      try await TopologyCommand(connect: { () throws(OperationsError) in try connect(arguments) }).run(arguments)
    case "dead": try await DeadCommand(backend: connect(arguments), clock: clock).run(arguments)
    case "keys": try KeysCommand(clock: clock).run(arguments)
    case "doctor": try await DoctorCommand(backend: connect(arguments)).run(arguments)
    case "templates": try TemplatesCommand().run(arguments)
    case "sms": try SMSCommand(input: streams.input).run(arguments)
    case "bench": try await BenchCommand(backend: connect(arguments)).run(arguments)
    case "version": VersionCommand.output
    default: throw UsageError("unknown command \(arguments.command.joined(separator: " "))")
    }
  }
}

extension CommandArguments {
  /// How long to wait for an answer.
  func timeout() throws(UsageError) -> Duration {
    try duration("timeout") ?? .seconds(10)
  }
}
