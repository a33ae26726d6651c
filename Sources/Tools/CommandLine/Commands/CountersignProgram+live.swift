public import CountersignTelemetry
import ServiceRuntime

extension CountersignProgram {
  /// The program on a real installation.
  /// - Parameters:
  ///   - environment: variables of the process; if neither they nor the options name an installation, those of
  ///     `.run/stack.env` take their place.
  ///   - clock: source of the time.
  ///   - streams: destination of the text.
  public init(environment: [String: String], clock: any WallClock, streams: ProgramStreams) {
    self.init(streams: streams, clock: clock) { (options) throws(CommandLineError) in
      LiveBackend(
        configuration: try Self.configuration(options, environment, streams), clock: clock,
        timeout: options.timeout ?? GlobalOptions.defaultTimeout)
    }
  }

  /// Options, then the environment, then the configuration file; if all are silent, the development stack of the
  /// current directory.
  private static func configuration(
    _ options: GlobalOptions, _ environment: [String: String], _ streams: ProgramStreams
  ) throws(CommandLineError) -> OperatorConfiguration {
    let isGiven = [options.brokerURL, options.managementURL, options.configFile].contains { $0 != nil }
    if !isGiven, !StackEnvironment.isNamed(by: environment) {
      switch StackEnvironment.read() {
      case .taken(let variables): return try load(file: nil, variables)
      case .ignored(let reason): streams.error("countersign: \(StackEnvironment.path) is ignored: \(reason)\n")
      case .absent: break
      }
    }
    var variables = environment
    if let url = options.brokerURL {
      variables["COUNTERSIGN_AMQP_URL"] = url
      variables["COUNTERSIGN_OPERATOR_AMQP_URL"] = url
    }
    if let url = options.managementURL { variables["COUNTERSIGN_MANAGEMENT_URL"] = url }
    return try load(file: options.configFile ?? foundFile(streams), variables)
  }

  /// The configuration file of the current directory, unless another user may have written it: it decides where
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
  ) throws(CommandLineError) -> OperatorConfiguration {
    do {
      return try OperatorConfiguration.load(file: file, environment: variables).content
    } catch {
      throw CommandLineError(.configuration, error.description)
    }
  }

  private static let defaultFile = "Config/countersign.json5"
}
