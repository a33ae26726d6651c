import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials

/// The life of a process: arguments, configuration, log, health, services, signals, exit code.
///
/// ```swift
/// @main struct SMSWorker {
///   static func main() async {
///     await ProcessMain.run(ProcessDescription(name: "sms-worker", summary: "Sends SMS.")) {
///       (configuration: SMSWorkerConfiguration, context) in
///       try await SMSWorkerServices.make(configuration, context)
///     }
///   }
/// }
/// ```
public enum ProcessMain {
  /// Runs a process to its end.
  ///
  /// Health and metrics are served first and last, so that they answer while the services start and stop.
  /// - Parameters:
  ///   - process: its description.
  ///   - read: reads a configuration that depends on more than the section.
  ///   - makeServices: wires the services, in the order in which they start. An error that it throws ends the process:
  ///     an ``ExitingError`` with its exit code and its one line.
  @concurrent
  public static func run<Content: ProcessConfiguration>(
    _ process: ProcessDescription, configuration read: @Sendable (ConfigurationSection) -> Content = { Content($0) },
    services makeServices: @escaping @Sendable (Content, ServiceContext) async throws -> [any Service]
  ) async -> Never {
    MemoryAllocator.keepFreedMemory()
    ProcessProtection.apply()
    do {
      let arguments = try arguments(process)
      let file = arguments.value("config") ?? defaultFile(process.name)
      if arguments.flag("keys") {
        for key in try Content.keys(file: file, read: read) {
          print("\(key.path) (\(key.kind); \(key.variable)): \(key.help)")
        }
        ProcessExit.orderly(.success)
      }
      let loaded = try Content.load(file: file, environment: environment, read: read)
      if arguments.flag("check") {
        for warning in loaded.warnings { StandardError.print("warning: \(warning)") }
        print("configuration is valid")
        ProcessExit.orderly(.success)
      }
      ProcessExit.orderly(try await serve(process, loaded, makeServices))
    } catch {
      StandardError.print(text(error, process.name))
      ProcessExit.orderly((error as? any ExitingError)?.exitCode ?? .internalError)
    }
  }

  private static func serve<Content: ProcessConfiguration>(
    _ process: ProcessDescription, _ loaded: LoadedConfiguration<Content>,
    _ makeServices: @escaping @Sendable (Content, ServiceContext) async throws -> [any Service]
  ) async throws -> ExitCode {
    let common = loaded.content.common
    let logger = Logger(label: process.name, level: common.logLevel, format: common.logFormat)
    for warning in loaded.warnings {
      logger.warning("configuration warning", ["place": warning.place, .hint: warning.text])
    }
    let context = ServiceContext(
      name: process.name, instance: instanceName(process.name), logger: logger, configurationFile: loaded.file)
    ProcessMetrics.register(in: context.metrics, process: process)
    let health = try HealthService(
      common.http, health: context.health, runtime: context.runtime, metrics: context.metrics, clock: context.clock)
    let socket = socket(common.http, port: health.port, context)
    defer { socket?.stop() }
    describe(process, loaded, socket, in: context)
    let stop = ProcessStop(
      logger: logger, ceiling: common.stopCeiling, onCanceling: { context.health.setStopping() })
    let signals = try stopSignals(stop, logger)
    defer { withExtendedLifetime(signals) {} }
    guard let services = try await stop.canceling({ try await makeServices(loaded.content, context) }) else {
      logger.info("stopped", ["exit.code": ExitCode.success.rawValue])
      return .success
    }
    let group = ServiceGroup(
      [health] + services, logger: logger, ceiling: common.stopCeiling, onStopping: { context.health.setStopping() })
    stop.onRequest { group.stop() }
    logger.info(
      "started",
      [
        "version": process.version, "instance": context.instance, "config": loaded.file,
        "http": "\(common.http.host):\(health.port)",
      ])
    context.health.setRunning()
    let code = await group.run()
    logger.info("stopped", ["exit.code": code.rawValue])
    return code
  }

  private static func describe<Content: ProcessConfiguration>(
    _ process: ProcessDescription, _ loaded: LoadedConfiguration<Content>, _ socket: RuntimeSocket?,
    in context: ServiceContext
  ) {
    let keys = loaded.content.common.keys
    let checkValues = keys.map { CheckValue.all($0, file: "keysFile") } ?? []
    context.runtime.add { report in
      (report.process, report.instance, report.version) = (context.name, context.instance, process.version)
      report.socket = socket?.path
      report.keys.seals = keys?.sealing?.id
      report.keys.opens = keys?.opening.keys.sorted() ?? []
      report.guarded?.configurationFile = loaded.file
      report.guarded?.settings = loaded.settings
      report.guarded?.checkValues += checkValues
    }
  }

  /// The socket for the doctor, which the process can do without.
  private static func socket(
    _ configuration: CommonConfiguration.HTTPConfiguration, port: UInt16, _ context: ServiceContext
  ) -> RuntimeSocket? {
    let state = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    guard let directory = configuration.socketDirectory ?? state else { return nil }
    do {
      return try RuntimeSocket(path: "\(directory)/\(context.name)-\(port).socket") {
        // Without a document the reader knows as much as without a socket.
        (try? context.runtime.report(clock: context.clock, isGuarded: true).json()) ?? []
      }
    } catch {
      context.logger.warning(
        "the doctor cannot ask for paths and check values", [.error: error.description])
      return nil
    }
  }

  private static func stopSignals(_ stop: ProcessStop, _ logger: Logger) throws(StartError) -> StopSignals {
    try StopSignals(
      onFirst: { number in
        logger.info("signal received, stopping", ["signal": number])
        stop.request()
      },
      onSecond: { number in
        logger.error("second signal received, ending at once", ["signal": number])
        ProcessExit.now(.signal(number))
      },
      onHangUp: {
        logger.info(
          "SIGHUP received, nothing to do",
          [
            .hint:
              "projects, fictional numbers, the broker's password and certificates are read again without a signal; restart the process after other changes"
          ])
      })
  }

  private static func arguments(_ process: ProcessDescription) throws -> CommandArguments {
    switch try process.syntax.parse(Array(CommandLine.arguments.dropFirst())) {
    case .help(let text):
      print(text, terminator: "")
      ProcessExit.orderly(.success)
    case .run(let arguments):
      guard !arguments.flag("version") else {
        print("\(process.name) \(process.version)")
        ProcessExit.orderly(.success)
      }
      return arguments
    }
  }

  private static var environment: [String: String] { ProcessInfo.processInfo.environment }

  private static func defaultFile(_ name: String) -> String? {
    if let path = environment["COUNTERSIGN_CONFIG"], !path.isEmpty { return path }
    return ["Config/\(name).json5", "/etc/countersign/\(name).json5"].first {
      FileManager.default.fileExists(atPath: $0)
    }
  }

  private static func instanceName(_ name: String) -> String {
    "\(name)@\(ProcessInfo.processInfo.hostName)/\(ProcessInfo.processInfo.processIdentifier)"
  }

  private static func text(_ error: any Error, _ name: String) -> String {
    let lines: String
    switch error {
    case let error as any ExitingError: lines = error.description
    case let error as any CustomStringConvertible: lines = error.description
    default: lines = "unexpected error of type \(type(of: error))"
    }
    return lines.split(separator: "\n").map { "\(name): \($0)" }.joined(separator: "\n")
  }
}
