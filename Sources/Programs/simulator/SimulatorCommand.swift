import CountersignTelemetry
import FoundationEssentials
import ServiceRuntime
import Simulation

/// Simulates SMS providers, APNs, reCAPTCHA and Sign in with Apple on a developer's machine.
@main enum SimulatorCommand {
  private struct Options: CommandOptions {
    let config: String?
    let check: Bool
    let keys: Bool

    init(_ reader: OptionReader) {
      config = reader.text("config", short: "c", "FILE", "The configuration, JSON5.")
      check = reader.flag("check", "Check the configuration and end.")
      keys = reader.flag("keys", "List the keys of the configuration and end.")
    }
  }

  private static let syntax = CommandSyntax(
    "simulator", "Simulates providers: answers, refuses and fails like them, and shows the messages it received.",
    discussion: """
      \(SimulatorGuide.text)
      Every key of the configuration can be overridden by an environment variable: http.port by COUNTERSIGN_HTTP_PORT.
      Without --config, COUNTERSIGN_CONFIG names the file, else it is Config/simulator.json5, else there is none.

      Exit codes: 0 stopped, 64 wrong arguments, 69 the port is in use, 77 a right is missing, 78 the configuration is wrong.
      """,
    options: Options.self)

  static func main() async {
    do {
      switch try syntax.parse(Array(CommandLine.arguments.dropFirst())) {
      case .help(let text): print(text, terminator: "")
      case .run(let arguments): try await run(try Options.read(arguments))
      }
    } catch {
      end(error)
    }
  }

  private static func run(_ options: Options) async throws {
    let file = options.config ?? defaultFile
    if options.keys {
      for key in try SimulatorConfiguration.keys(file: file) {
        print("\(key.path) (\(key.kind); \(key.variable)): \(key.help)")
      }
      return
    }
    let loaded = try SimulatorConfiguration.load(file: file, environment: ProcessInfo.processInfo.environment)
    if options.check { return print("configuration is valid") }
    try await serve(loaded)
  }

  private static func serve(_ loaded: LoadedConfiguration<SimulatorConfiguration>) async throws {
    let configuration = loaded.content
    let logger = Logger(label: "simulator", level: configuration.logLevel, format: configuration.logFormat)
    for warning in loaded.warnings {
      logger.warning("configuration warning", ["place": warning.place, .hint: warning.text])
    }
    let (stops, stop) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let signals = try StopSignals(onFirst: { stop.yield($0) })
    let simulator = try Simulator(configuration.settings)
    logger.info("started", ["url": simulator.url, "config": loaded.file])
    for await number in stops {
      logger.info("signal received, stopping", ["signal": number])
      break
    }
    await simulator.stop()
    withExtendedLifetime(signals) { logger.info("stopped") }
  }

  private static var defaultFile: String? {
    if let path = ProcessInfo.processInfo.environment["COUNTERSIGN_CONFIG"], !path.isEmpty { return path }
    let file = "Config/simulator.json5"
    return FileManager.default.fileExists(atPath: file) ? file : nil
  }

  private static func end(_ error: any Error) -> Never {
    let code: ExitCode
    switch error {
    case let error as any ExitingError: code = error.exitCode
    case let error as SimulationError: code = error.code == .cannotListen ? .unavailable : .configuration
    default: code = .internalError
    }
    StandardError.print("simulator: \(error)")
    ProcessExit.orderly(code)
  }
}
