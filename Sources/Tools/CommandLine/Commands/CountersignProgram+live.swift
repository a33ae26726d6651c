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

  /// Options, then the environment, then the configuration file. If all are silent, the development stack of the
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

  /// The configuration file of the current directory, else that of the machine, unless another user may have written
  /// it: it decides where passwords go.
  static func foundFile(_ streams: ProgramStreams, among files: [String] = defaultFiles) -> String? {
    for file in files {
      guard let facts = FileFacts(file) else { continue }
      if facts.isOwnedByCaller || facts.isOwnedByRoot, !facts.isWritableByAll { return file }
      streams.error("countersign: \(file) is ignored: another user can write it; name it with --config\n")
    }
    return nil
  }

  private static func load(
    file: String?, _ variables: [String: String]
  ) throws(CommandLineError) -> OperatorConfiguration {
    do {
      var configuration = try OperatorConfiguration.load(file: file, environment: variables).content
      // The file of a machine stands beside those of its processes.
      if configuration.configDirectory == nil, let file, file.hasPrefix("/"), let slash = file.lastIndex(of: "/") {
        configuration.configDirectory = String(file[..<slash])
      }
      return configuration
    } catch {
      throw CommandLineError(.configuration, error.description)
    }
  }

  /// In the order in which they are tried, as those of processes.
  static let defaultFiles = ["Config/countersign.json5", "/etc/countersign/countersign.json5"]
}
