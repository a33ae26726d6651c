import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

struct DoctorFacts: Sendable {
  var now: UnixTime
  var service: [Finding] = []
  var operatorUser: [Finding] = []
  var brokerHosts: [BrokerHostsCheck.State] = []
  var management: Result<ManagementFacts, CommandLineError>
  var processes: [ProcessFacts] = []
  var providers: [ProviderCheck.Answer] = []
  var databases: [Finding] = []
  var settings: [Finding] = []
  var files: [Finding] = []
  var serviceAccounts: [Finding] = []
  var certificates: [CertificateCheck.State] = []
  var conversion: Result<ConversionList, CommandLineError>

  /// `nil` if it does not answer.
  var known: ManagementFacts? { try? management.get() }

  var namesInUse: Set<String> { Set(processes.filter(\.isInUse).map(\.name)) }

  func reports(_ isWanted: (String) -> Bool = { _ in true }) -> [(process: ProcessFacts, report: RuntimeReport)] {
    processes.compactMap { process in
      guard isWanted(process.name), let report = process.report else { return nil }
      return (process, report)
    }
  }

  var configurations: ConfigurationFiles {
    ConfigurationFiles(files: reports().compactMap { $0.process.configuration })
  }
}

struct ManagementFacts: Sendable {
  struct Node: Sendable, Decodable {
    let name: String
    let memoryAlarm: Bool?
    let diskAlarm: Bool?

    enum CodingKeys: String, CodingKey {
      case name
      case memoryAlarm = "mem_alarm"
      case diskAlarm = "disk_free_alarm"
    }
  }

  var version: String
  var nodes: [Node] = []
  var topology: TopologyReport
  var queues: [QueueState] = []
  var consumers: [ConsumerState] = []
  var queueCount: [Finding] = []
  /// Header `date` of an answer, and local time when it came.
  var date: (header: String?, at: UnixTime)
}

struct ProcessFacts: Sendable {
  let name: String
  let url: String
  /// Whether it is configured or enabled, so that its absence is a failure.
  var isExpected = true
  /// Answer of `/readyz`, or the reason that there is none.
  var readiness: Result<HTTPProbeAnswer, CommandLineError>
  var report: RuntimeReport?
  /// Local time in the middle of the question for the report.
  var askedAt = UnixTime(milliseconds: 0)

  var place: String { "\(name) at \(url)" }

  var answers: Bool { (try? readiness.get()) != nil }

  var isInUse: Bool { isExpected || answers }

  /// If this user may know it.
  var configuration: ConfigurationFiles.File? {
    guard let guarded = report?.guarded else { return nil }
    let settings = guarded.settings.sorted { $0.key < $1.key }
      .map { ConfigurationFiles.Setting(path: $0.key, value: $0.value) }
    return ConfigurationFiles.File(name: name, directory: "/", settings: settings)
  }

  func path(_ key: String) -> String { report?.guarded?.settings[key].map { "\(key) (\($0))" } ?? key }

  static func ask(
    _ address: ProcessAddress, _ probe: any HTTPProbe, clock: any WallClock,
    socket: @Sendable (String) async -> RuntimeReport? = { await RuntimeReport.ask(socket: $0) }
  ) async -> ProcessFacts {
    async let readiness = answer(probe, "\(address.url)/readyz")
    let begin = clock.now()
    let answer = try? await probe.get("\(address.url)/runtime")
    let end = clock.now()
    var report = answer.flatMap { $0.status == 200 ? RuntimeReport.read($0.body) : nil }
    // The path may lead to another process on this machine.
    if let path = report?.socket, let whole = await socket(path), whole.instance == report?.instance {
      report?.guarded = whole.guarded
    }
    return ProcessFacts(
      name: address.name, url: address.url, isExpected: address.isExpected, readiness: await readiness, report: report,
      askedAt: begin + .milliseconds((end.milliseconds - begin.milliseconds) / 2))
  }

  private static func answer(
    _ probe: any HTTPProbe, _ url: String
  ) async -> Result<HTTPProbeAnswer, CommandLineError> {
    do { return .success(try await probe.get(url)) } catch { return .failure(error) }
  }
}
