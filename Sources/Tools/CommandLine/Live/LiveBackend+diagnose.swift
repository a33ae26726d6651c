import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import HTTPClient

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The doctor's round: prerequisites of other checks first; a check that cannot be made does not stop the others.
extension LiveBackend {
  func diagnose(configDirectory: String?, timeout: Duration) async -> [Finding] {
    var findings = await service()
    findings += await hosts()
    findings.append(await operatorUser())
    let directory = configDirectory ?? configuration.configDirectory
    findings += await management(directory)
    findings += await databases(directory, timeout)
    findings += await processesAndFiles(directory)
    findings += await conversion()
    return findings
  }

  /// Connects as a service, and tries to publish a command, with a routing key that leads nowhere.
  private func service() async -> [Finding] {
    let check = "broker, as a service"
    do {
      let endpoint = try configuration.service.endpoint()
      let connection = try await open(endpoint)
      let outcome = await Self.probePublishing(connection)
      let place = await connection.host.map { endpoint.at($0) } ?? endpoint
      await Self.close(connection)
      switch outcome {
      case .success: return [Finding(check, .ok, "\(place) accepts commands")]
      case .failure(let error):
        return [Finding(check, .failed, error.description, hint: Self.hint(error.code, user: endpoint.username))]
      }
    } catch {
      return [Finding(check, .failed, error.description, hint: Self.hint(error.code, user: "service"))]
    }
  }

  /// Connects to each host of a list: processes pass over one that fails, so that nothing else tells of it.
  private func hosts() async -> [Finding] {
    // The check of the service reports an unknown address.
    guard let endpoint = try? configuration.service.endpoint(), endpoint.hosts.count > 1 else { return [] }
    let states = await withTaskGroup(of: BrokerHostsCheck.State.self) { group in
      for host in endpoint.hosts { group.addTask { await state(of: host, endpoint) } }
      return await group.reduce(into: [:]) { $0[$1.host] = $1 }
    }
    return BrokerHostsCheck.findings(endpoint.hosts.compactMap { states[$0] })
  }

  /// Maximum time of an attempt at one host of a list: longer than processes wait.
  private static let hostTimeout: Duration = .seconds(5)

  private func state(of host: BrokerHost, _ endpoint: BrokerEndpoint) async -> BrokerHostsCheck.State {
    do {
      let connection = try await open(endpoint.at(host), within: Self.hostTimeout)
      let name = await connection.serverProperties["cluster_name"]?.stringValue
      await Self.close(connection)
      return BrokerHostsCheck.State(host: host, outcome: .success(name))
    } catch {
      return BrokerHostsCheck.State(host: host, outcome: .failure(error))
    }
  }

  private static func probePublishing(_ connection: AdminConnection) async -> Result<Void, CommandLineError> {
    var message = Message()
    message.isPersistent = false
    message.appID = appID
    do {
      _ = try await connection.publish(
        Publication(message: message, exchange: Topology.Exchanges.commands, routingKey: "doctor.probe"))
      return .success(())
    } catch {
      return .failure(CommandLineError(error))
    }
  }

  private func operatorUser() async -> Finding {
    let check = "broker, as the operator"
    do {
      let endpoint = try configuration.operatorUser.endpoint()
      let connection = try await open(endpoint)
      let place = await connection.host.map { endpoint.at($0) } ?? endpoint
      await Self.close(connection)
      return Finding(check, .ok, "\(place)")
    } catch {
      return Finding(check, .failed, error.description, hint: Self.hint(error.code, user: "operator"))
    }
  }

  private static func hint(_ code: CommandLineError.Code, user: String) -> String {
    switch code {
    case .notPermitted:
      "rabbitmqctl change_password \(user) …, and the rights of Config/rabbitmq/definitions.json (rabbitmqctl set_permissions)"
    case .configuration: "set the missing variable; countersign --help lists them"
    case .refused: "countersign topology apply"
    default: "start the broker, or correct its address; a firewall may block the connection"
    }
  }

  private struct Overview: Decodable {
    let version: String

    enum CodingKeys: String, CodingKey {
      case version = "rabbitmq_version"
    }
  }

  private struct Node: Decodable {
    let name: String
    let memoryAlarm: Bool?
    let diskAlarm: Bool?

    enum CodingKeys: String, CodingKey {
      case name
      case memoryAlarm = "mem_alarm"
      case diskAlarm = "disk_free_alarm"
    }
  }

  private func management(_ directory: String?) async -> [Finding] {
    // The check of the files reports an unreadable directory.
    let files = directory.flatMap { try? ConfigurationFiles(directory: $0) }
    do {
      return try await withManagement { (api) throws(CommandLineError) in
        let overview: Overview = try await api.get("/api/overview")
        let nodes: [Node] = try await api.get("/api/nodes")
        let report = try await TopologyTool(declaration: .countersign, api: api).check()
        let queues: [QueueState] = try await api.list("queues")
        let consumers: [ConsumerState] = try await api.list("consumers")
        let response = try await api.transport.send("GET", "/api/whoami", body: nil)
        return [BrokerCheck.version(overview.version)]
          + nodes.flatMap {
            BrokerCheck.alarms(node: $0.name, memory: $0.memoryAlarm == true, disk: $0.diskAlarm == true)
          } + BrokerCheck.topology(report) + QueueCheck.findings(queues)
          + (try await QueueCountCheck.findings(api))
          + ConsumerHostsCheck.findings(consumers, files) + [
            ClockCheck.finding(date: response.date, now: clock.now(), server: "the broker")
          ]
      }
    } catch {
      return [Finding("management API", .failed, error.description, hint: Self.hint(error.code, user: "operator"))]
    }
  }

  private func conversion() async -> [Finding] {
    do {
      return ConversionCheck.findings(
        try await sendAsOperator(
          ListConversions(limit: ConversionCheck.shownBlocks), timeout: min(timeout, Self.conversionTimeout)))
    } catch {
      return [ConversionCheck.skipped(error.description)]
    }
  }

  /// Short, because a running coordinator answers at once, and the round must go on without it.
  private static let conversionTimeout: Duration = .seconds(5)

  private func processesAndFiles(_ directory: String?) async -> [Finding] {
    do {
      return try await withTransport { (transport) throws(CommandLineError) in
        let probe = CurlProbe(transport: transport, timeout: timeout)
        return await processes(probe) + files(directory)
      }
    } catch {
      return [Finding("HTTP", .failed, error.description, hint: "look at the certificates of the machine")]
    }
  }

  private func processes(_ probe: CurlProbe) async -> [Finding] {
    var findings: [Finding] = []
    let check = ProcessCheck(probe: probe)
    let ask = { (name: String, url: String) async -> [Finding] in
      [await check.finding(name: name, url: url)] + (await check.clock(name: name, url: url, clock: clock))
    }
    for url in configuration.coordinatorURLs { findings += await ask("coordinator", url) }
    for worker in configuration.workers {
      for url in worker.urls {
        findings += await ask(worker.name, url)
        findings += await check.lanes(name: worker.name, url: url)
      }
    }
    for service in configuration.services {
      for url in service.urls { findings += await ask(service.name, url) }
    }
    if findings.isEmpty {
      findings.append(
        Finding(
          "processes", .skipped, "the addresses of their health endpoints are not known",
          hint: "set COUNTERSIGN_COORDINATOR_URL, COUNTERSIGN_SMS_WORKER_URLS and those of the other workers"))
    }
    return findings
  }

  private func files(_ directory: String?) async -> [Finding] {
    guard let directory else {
      return [
        Finding(
          "configuration", .skipped, "the directory of the configuration files is not known",
          hint: "give --config-dir, or set COUNTERSIGN_CONFIG_DIR")
      ]
    }
    do {
      let files = try ConfigurationFiles(directory: directory)
      let keys = await ConfigurationCheck(programs: Self.programs, run: ChildProcess.run).findings(files)
      return FileChecks.findings(files) + KeyCheck.findings(files) + AccountsCheck.findings(files) + keys
        + (await providers(files))
        + (await serviceAccounts(directory))
    } catch {
      return [
        Finding("configuration", .failed, error.description, hint: "name another directory, or correct its permissions")
      ]
    }
  }

  private func providers(_ files: ConfigurationFiles) async -> [Finding] {
    let groups = Dictionary(grouping: ProviderCheck.addresses(files), by: \.caFile)
    var findings: [Finding] = []
    for (caFile, addresses) in groups.sorted(by: { $0.value[0].place < $1.value[0].place }) {
      do {
        findings += try await withTransport(caFile: caFile) { (transport) throws(CommandLineError) in
          await ProviderCheck(probe: CurlProbe(transport: transport, timeout: timeout)).findings(addresses)
        }
      } catch {
        findings.append(
          Finding("provider of \(addresses[0].place)", .failed, error.description, hint: "correct its caFile"))
      }
    }
    return findings
  }

  /// Directory of this program, which is the other programs' as well.
  private static var programs: String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count)
    guard count > 0, let program = String(validating: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self),
      let slash = program.lastIndex(of: "/")
    else { return "." }
    return String(program[..<slash])
  }
}
