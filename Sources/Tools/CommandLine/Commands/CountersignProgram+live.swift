public import CountersignTelemetry
internal import ServiceRuntime

extension CountersignProgram {
  /// The program on a real installation.
  /// - Parameters:
  ///   - environment: the variables of the process; where they name no installation, nor the options do, those of
  ///     `.run/stack.env` take their place.
  ///   - clock: the time.
  ///   - streams: where the text goes.
  public init(environment: [String: String], clock: any WallClock, streams: ProgramStreams) {
    self.init(streams: streams, clock: clock) { (arguments) throws(OperationsError) in
      let timeout: Duration
      do throws(UsageError) { timeout = try arguments.timeout() } catch { throw OperationsError(.usage, error.message) }
      return LiveBackend(
        configuration: try Self.configuration(arguments, environment, streams), clock: clock, timeout: timeout)
    }
  }

  /// Options, then the environment, then the configuration file; where none of them says anything, the development
  /// stack of the current directory.
  private static func configuration(
    _ arguments: CommandArguments, _ environment: [String: String], _ streams: ProgramStreams
  ) throws(OperationsError) -> OperatorConfiguration {
    let options = ["broker", "management", "config"].compactMap { arguments.value($0) }
    if options.isEmpty, !StackEnvironment.isNamed(by: environment) {
      switch StackEnvironment.read() {
      case .taken(let variables): return try load(file: nil, variables)
      case .ignored(let reason): streams.error("countersign: \(StackEnvironment.path) is ignored: \(reason)\n")
      case .absent: break
      }
    }
    var variables = environment
    if let url = arguments.value("broker") {
      variables["COUNTERSIGN_AMQP_URL"] = url
      variables["COUNTERSIGN_OPERATOR_AMQP_URL"] = url
    }
    if let url = arguments.value("management") { variables["COUNTERSIGN_MANAGEMENT_URL"] = url }
    return try load(file: arguments.value("config") ?? foundFile(streams), variables)
  }

  /// The configuration file of the current directory, unless another user can have written it: it decides where
  /// passwords go.
  private static func foundFile(_ streams: ProgramStreams) -> String? {
    guard let facts = FileFacts(defaultFile) else { return nil }
    guard facts.isOwnedByCaller || facts.isOwnedByRoot, !facts.isWritableByAll else {
      streams.error("countersign: \(defaultFile) is ignored: another user can write it; name it with --config\n")
      return nil
    }
    return defaultFile
  }

  private static func load(
    file: String?, _ variables: [String: String]
  ) throws(OperationsError) -> OperatorConfiguration {
    do {
      return try OperatorConfiguration.load(file: file, environment: variables).content
    } catch {
      throw OperationsError(.configuration, error.description)
    }
  }

  private static let defaultFile = "Config/countersign.json5"
}
