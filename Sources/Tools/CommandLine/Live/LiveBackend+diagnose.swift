import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import ServiceRuntime

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Everything is asked at once. What cannot be asked does not stop the rest.
extension LiveBackend {
  func diagnose(configDirectory: String?, timeout: Duration) async -> [Finding] {
    let directory = configDirectory ?? configuration.configDirectory
    let files = directory.flatMap { try? ConfigurationFiles(directory: $0) }
    async let service = service()
    async let brokerHosts = brokerHosts()
    async let operatorUser = operatorUser()
    async let management = management()
    async let certificates = certificates()
    async let conversion = conversion()
    let processes = await processes(files)
    let inUse = ConfigurationFiles(
      files: files?.files.filter { file in processes.contains { $0.isInUse && "\($0.name).json5" == file.name } } ?? [])
    let silent = ConfigurationFiles(
      files: inUse.files.filter { file in !processes.contains { $0.answers && "\($0.name).json5" == file.name } })
    var facts = DoctorFacts(now: clock.now(), management: await management, conversion: await conversion)
    facts.processes = processes
    let hosts = ProviderCheck.addresses(facts.configurations)
    async let databases = databases(inUse, timeout)
    async let settings = ConfigurationCheck(programs: Self.programs, run: ChildProcess.run).findings(silent)
    async let providers = providers(hosts)
    async let accounts = serviceAccounts(processes)
    facts.files =
      Self.unread(directory, files) + FileChecks.databases(facts.configurations) + FileChecks.findings(silent)
    (facts.service, facts.operatorUser, facts.brokerHosts) = (await service, await operatorUser, await brokerHosts)
    (facts.databases, facts.settings, facts.providers) = (await databases, await settings, await providers)
    (facts.serviceAccounts, facts.certificates) = (await accounts, await certificates)
    return DoctorCheck.diagnosis(facts)
  }

  private static func unread(_ directory: String?, _ files: ConfigurationFiles?) -> [Finding] {
    guard files == nil else { return [] }
    guard let directory else {
      return [
        Finding(
          "configuration", .skipped, "the directory of the configuration files is not known",
          hint: "give --config-dir, or set COUNTERSIGN_CONFIG_DIR")
      ]
    }
    return [
      Finding(
        "configuration", .failed, "the directory \(directory) cannot be read",
        hint: "name another directory, or correct its permissions")
    ]
  }

  private struct Overview: Decodable {
    let version: String

    enum CodingKeys: String, CodingKey {
      case version = "rabbitmq_version"
    }
  }

  private func management() async -> Result<ManagementFacts, CommandLineError> {
    do {
      var facts = try await withManagement { (api) throws(CommandLineError) in
        let overview: Overview = try await api.get("/api/overview")
        var facts = ManagementFacts(
          version: overview.version, topology: try await TopologyTool(api: api).check(),
          date: (nil, clock.now()))
        facts.nodes = try await api.get("/api/nodes")
        facts.queues = try await api.list("queues")
        facts.consumers = try await api.list("consumers")
        facts.queueCount = try await QueueCountCheck.findings(api)
        facts.date = (try await api.transport.send("GET", "/api/whoami", body: nil).date, clock.now())
        return facts
      }
      await askAgain(&facts.queues)
      return .success(facts)
    } catch {
      return .failure(error)
    }
  }

  /// The figures of the management API are some seconds old.
  private func askAgain(_ queues: inout [QueueState]) async {
    let idle = queues.indices.filter {
      queues[$0].consumers == 0 && TopologyDeclaration.workQueues.contains(queues[$0].name)
    }
    // Without a connection the older figures have to do; the broker's check says why.
    guard !idle.isEmpty, let endpoint = try? configuration.service.endpoint(),
      let connection = try? await open(endpoint)
    else { return }
    for index in idle {
      guard let now = try? await connection.declareQueue(queues[index].name, passive: true) else { continue }
      (queues[index].consumers, queues[index].ready) = (now.consumerCount, now.messageCount)
      queues[index].messages = max(queues[index].messages ?? 0, now.messageCount)
    }
    await Self.close(connection)
  }

  private func conversion() async -> Result<ConversionList, CommandLineError> {
    do {
      return .success(
        try await sendAsOperator(
          ListConversions(limit: ConversionCheck.shownBlocks), timeout: min(timeout, Self.conversionTimeout)))
    } catch {
      return .failure(error)
    }
  }

  /// Short, because a running coordinator answers at once, and the round must go on without it.
  private static let conversionTimeout: Duration = .seconds(5)

  private func processes(_ files: ConfigurationFiles?) async -> [ProcessFacts] {
    let configured =
      [(name: "coordinator", urls: configuration.coordinatorURLs)] + configuration.workers + configuration.services
    let addresses = ProcessAddress.all(configured, files)
    // Without a transport nothing can be asked, which the first question says.
    let found = try? await withTransport { (transport) throws(CommandLineError) in
      let probe = CurlProbe(transport: transport, timeout: timeout)
      return await withTaskGroup(of: (Int, ProcessFacts).self) { group in
        for (index, address) in addresses.enumerated() {
          group.addTask { (index, await ProcessFacts.ask(address, probe, clock: clock)) }
        }
        return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
      }
    }
    return found ?? []
  }

  private func providers(_ addresses: [ProviderCheck.Address]) async -> [ProviderCheck.Answer] {
    let groups = Dictionary(grouping: addresses, by: \.caFile)
    var answers: [ProviderCheck.Answer] = []
    for (caFile, addresses) in groups.sorted(by: { $0.value[0].base < $1.value[0].base }) {
      do {
        answers += try await withTransport(caFile: caFile) { (transport) throws(CommandLineError) in
          let probe = CurlProbe(transport: transport, timeout: timeout)
          return await withTaskGroup(of: ProviderCheck.Answer.self) { group in
            for address in addresses { group.addTask { await Self.answer(address, probe) } }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.address.base < $1.address.base }
          }
        }
      } catch {
        answers += addresses.map { ProviderCheck.Answer(address: $0, outcome: .failure(error)) }
      }
    }
    return answers
  }

  private static func answer(_ address: ProviderCheck.Address, _ probe: CurlProbe) async -> ProviderCheck.Answer {
    do {
      return ProviderCheck.Answer(address: address, outcome: .success(try await probe.get(address.base)))
    } catch {
      return ProviderCheck.Answer(address: address, outcome: .failure(error))
    }
  }

  private func certificates() async -> [CertificateCheck.State] {
    var servers: [(name: String, host: String, port: UInt16)] = []
    if let endpoint = try? configuration.service.endpoint(), endpoint.tls != nil {
      servers += endpoint.hosts.map { ("broker", $0.name, UInt16(clamping: $0.port)) }
    }
    for text in configuration.gatewayURLs where text.hasPrefix("https://") {
      guard let parts = URLParts(text) else { continue }
      let port = parts.base.dropFirst("https://\(parts.host):".count)
      servers.append(("gateway", parts.host, UInt16(port) ?? 443))
    }
    return await withTaskGroup(of: CertificateCheck.State.self) { group in
      for server in servers {
        group.addTask {
          let end = await ServerCertificate.end(host: server.host, port: server.port, timeout: Self.certificateTimeout)
          return CertificateCheck.State(
            server: server.name, host: "\(server.host):\(server.port)", end: end.map(UnixTime.init(seconds:)))
        }
      }
      return await group.reduce(into: []) { $0.append($1) }.sorted { $0.host < $1.host }
    }
  }

  private static let certificateTimeout: Duration = .seconds(3)

  private static var programs: String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count)
    guard count > 0, let program = String(validating: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self),
      let slash = program.lastIndex(of: "/")
    else { return "." }
    return String(program[..<slash])
  }
}
