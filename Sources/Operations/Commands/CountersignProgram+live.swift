internal import FoundationEssentials
internal import ServiceRuntime
public import Telemetry

extension CountersignProgram {
  /// The program on a real installation.
  /// - Parameters:
  ///   - environment: the variables of the process; those of `.run/stack.env` stand below them.
  ///   - clock: the time.
  ///   - streams: where the text goes.
  public init(environment: [String: String], clock: any WallClock, streams: ProgramStreams) {
    self.init(streams: streams, clock: clock) { (arguments) throws(OperationsError) in
      let timeout: Duration
      do throws(UsageError) { timeout = try arguments.timeout() } catch { throw OperationsError(.usage, error.message) }
      return LiveBackend(
        configuration: try Self.configuration(arguments, environment), clock: clock, timeout: timeout)
    }
  }

  /// Options, then the environment, then the development stack's file, then the configuration file.
  private static func configuration(
    _ arguments: CommandArguments, _ environment: [String: String]
  ) throws(OperationsError) -> OperatorConfiguration {
    var variables = stackEnvironment().merging(environment) { $1 }
    if let url = arguments.value("broker") {
      variables["COUNTERSIGN_AMQP_URL"] = url
      variables["COUNTERSIGN_OPERATOR_AMQP_URL"] = url
    }
    if let url = arguments.value("management") { variables["COUNTERSIGN_MANAGEMENT_URL"] = url }
    let file = arguments.value("config") ?? (FileFacts(defaultFile) == nil ? nil : defaultFile)
    do {
      return try OperatorConfiguration.load(file: file, environment: variables).content
    } catch {
      throw OperationsError(.configuration, error.description)
    }
  }

  private static let defaultFile = "Config/countersign.json5"

  /// What `deploy/up` wrote, when the current directory has it.
  private static func stackEnvironment() -> [String: String] {
    // Without the file there is no development stack here.
    guard let data = try? Data(contentsOf: URL(filePath: ".run/stack.env")) else { return [:] }
    return EnvironmentFile.parse(String(decoding: data, as: UTF8.self))
  }
}
