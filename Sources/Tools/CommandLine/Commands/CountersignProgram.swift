import CountersignEncoding
import CountersignTelemetry
public import ServiceRuntime

/// The program `countersign` without its process: arguments in, text out, exit code back.
public struct CountersignProgram: Sendable {
  let streams: ProgramStreams
  let clock: any WallClock
  let connect: @Sendable (GlobalOptions) throws(CommandLineError) -> any OperatorBackend

  /// Carries out one command.
  /// - Parameter arguments: without the name of the program.
  /// - Returns: the exit code.
  public func run(_ arguments: [String]) async -> ExitCode {
    let invocation: CommandInvocation
    do {
      invocation = try CountersignSyntax.program.syntax.parse(arguments)
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
    let reader = OptionReader(arguments)
    let global = GlobalOptions(reader)
    do {
      let output = try await carryOut(arguments, global, reader)
      let text = global.json ? output.json.json() : output.text
      if !text.isEmpty { streams.output(TerminalText.lines(text) + "\n") }
      return output.exitCode
    } catch {
      if global.json { streams.output(TerminalText.lines(Self.json(error).json()) + "\n") }
      streams.error("countersign: \(TerminalText.lines(error.description))\n")
      return error.exitCode
    }
  }

  private static func json(_ error: CommandLineError) -> JSONValue {
    if let apiError = error.apiError { return .object(["error": JSONValue(encoding: apiError)]) }
    return .object(["error": .object(["code": .text(error.code.rawValue), "message": .text(error.description)])])
  }

  private func carryOut(
    _ arguments: CommandArguments, _ global: GlobalOptions, _ reader: OptionReader
  ) async throws(CommandLineError) -> CommandOutput {
    let context = CommandContext(
      global: global, clock: clock, report: streams.error, input: streams.input, connect: connect)
    do {
      try reader.finish()
      guard let action = CountersignSyntax.program.action(of: arguments.command) else {
        throw UsageError("unknown command \(arguments.command.joined(separator: " "))")
      }
      return try await action(arguments, context)
    } catch let error as CommandLineError {
      throw error
    } catch let error as UsageError {
      throw CommandLineError(.usage, error.message)
    } catch {
      throw CommandLineError(.internalError, "unexpected: \(type(of: error))")
    }
  }
}

enum VersionCommand {
  static let version = "0.1.0"
  static let entry = CommandEntry("version", "Prints the version.", options: NoOptions.self) { _, _ in
    CommandOutput(text: "countersign \(version)", json: .object(["version": .text(version)]))
  }
}
