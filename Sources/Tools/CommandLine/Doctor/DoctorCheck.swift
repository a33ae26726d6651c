struct DoctorCheck: Sendable {
  let name: String
  /// An unknown fact has no findings.
  let findings: @Sendable (DoctorFacts) -> [Finding]

  init(_ name: String, _ findings: @escaping @Sendable (DoctorFacts) -> [Finding]) {
    self.name = name
    self.findings = findings
  }

  /// Those of causes before those of consequences.
  static let all: [DoctorCheck] = [
    .broker, .alarms, .topology, .databases, .clocks, .settings, .keys, .secrets, .regions, .apps, .providers, .lanes,
    .serviceAccounts, .processes, .queues, .delayQueues, .queueCount, .hosts, .delays, .certificates, .files,
    .fictionalNumbers, .conversion,
  ]

  static func diagnosis(_ facts: DoctorFacts) -> [Finding] {
    Finding.ordered(all.flatMap { $0.findings(facts) })
  }
}

extension DoctorCheck {
  static let broker = DoctorCheck("broker") { facts in
    facts.service + BrokerHostsCheck.findings(facts.brokerHosts) + facts.operatorUser
  }

  static let alarms = DoctorCheck("alarms") { facts in
    switch facts.management {
    case .failure(let error):
      [
        Finding(
          "management API", .failed, error.description,
          hint: LiveBackend.hint(error.code, user: "operator"), needs: [[.broker]])
      ]
    case .success(let management):
      [BrokerCheck.version(management.version)]
        + management.nodes.flatMap {
          BrokerCheck.alarms(node: $0.name, memory: $0.memoryAlarm == true, disk: $0.diskAlarm == true)
        }
    }
  }

  static let topology = DoctorCheck("topology") { facts in
    facts.known.map { BrokerCheck.topology($0.topology) } ?? []
  }

  static let databases = DoctorCheck("databases") { $0.databases }

  static let settings = DoctorCheck("settings") { $0.settings }

  static let serviceAccounts = DoctorCheck("service accounts") { $0.serviceAccounts }

  static let queues = DoctorCheck("queues") { facts in
    facts.known.map { QueueCheck.findings($0.queues, inUse: facts.namesInUse) } ?? []
  }

  static let delayQueues = DoctorCheck("delay queues") { facts in
    facts.known.map { QueueCheck.delays($0.queues) } ?? []
  }

  static let queueCount = DoctorCheck("queue count") { $0.known?.queueCount ?? [] }

  static let hosts = DoctorCheck("hosts") { facts in
    facts.known.map { ConsumerHostsCheck.findings($0.consumers, facts.configurations) } ?? []
  }

  static let certificates = DoctorCheck("certificates") { facts in
    facts.certificates.compactMap { CertificateCheck.finding($0, now: facts.now) }
  }

  static let files = DoctorCheck("files") { $0.files }

  static let conversion = DoctorCheck("conversion") { facts in
    switch facts.conversion {
    case .success(let list): ConversionCheck.findings(list)
    case .failure(let error): [ConversionCheck.skipped(error.description)]
    }
  }
}
