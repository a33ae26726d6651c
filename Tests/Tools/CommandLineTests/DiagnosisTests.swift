import CountersignMessages
import CountersignTelemetry
import Testing

@testable import CommandLine
@testable import ServiceRuntime

@Suite struct FindingOrderTests {
  @Test func `What follows from a failure stands below it, and nothing else fails`() {
    let found = Finding.ordered([
      Finding("clocks", .ok, "agree"),
      Finding("provider", .failed, "refused", about: .provider("http://p")),
      Finding("lanes", .failed, "down", about: .lanes("w"), needs: [[.provider("http://p")]]),
      Finding("dead letters", .warning, "3"),
      Finding("process", .failed, "not ready", about: .process("w"), needs: [[.lanes("w")]]),
      Finding("queue", .failed, "no consumer", needs: [[.process("w")]]),
    ])
    #expect(found.map(\.check) == ["provider", "lanes", "process", "queue", "dead letters", "clocks"])
    #expect(found.map(\.status) == [.failed, .follows, .follows, .follows, .warning, .ok])
    #expect(found.map(\.cause) == [nil, "provider", "provider", "provider", nil, nil])
  }

  @Test func `A failure that one of its parts alone explains is a failure of its own`() {
    let found = Finding.ordered([
      Finding("broker", .failed, "down", about: .broker),
      Finding("process", .failed, "no broker, no disk", needs: [[.broker], []]),
      Finding("other", .failed, "no broker", needs: [[.broker]]),
    ])
    #expect(found.map(\.check) == ["broker", "other", "process"])
    #expect(found.map(\.status) == [.failed, .follows, .failed])
  }
}

@Suite struct DiagnosisTests {
  private static let conversion = ConversionList(
    enabled: true, floorPercent: 20, windowSeconds: 3600, blockCount: 0, blocks: [], regions: [], prefixes: [])

  private var healthy: DoctorFacts {
    var facts = DoctorFacts(
      now: UnixTime(milliseconds: 1_800_000_000_000),
      management: .success(
        ManagementFacts(
          version: "3.10.8", topology: TopologyReport(differences: []),
          queues: [
            QueueState(name: "sms.dispatch", messages: 0, ready: 0, unacknowledged: 0, consumers: 1),
            QueueState(name: "mail.relay", messages: 0, ready: 0, unacknowledged: 0, consumers: 0),
          ], date: (nil, UnixTime(milliseconds: 0)))),
      conversion: .success(Self.conversion))
    facts.processes = [
      process("coordinator") {
        ($0.keys.seals, $0.keys.opens, $0.regions) = ("k1", ["k1", "g1"], ["FR", "US"])
        $0.apps = ["com.example.app": "push"]
        $0.guarded?.checkValues = [Self.pepper(1), Self.key(1)]
      },
      process("sms-worker") {
        ($0.keys.opens, $0.regions) = (["k1"], ["FR", "US"])
        $0.queues = ["sms.dispatch"]
        $0.lanes = [.init(name: "twilio", queue: "sms.dispatch", isUp: true, reason: nil, failures: 0, answered: 3)]
        $0.routes = [.init(lane: "twilio", regions: [], prefixes: [])]
        $0.guarded?.checkValues = [Self.key(1)]
      },
      process("accounts") {
        ($0.keys.seals, $0.keys.opens, $0.keys.pairs) = ("k1", ["k1", "g1"], ["a1"])
        // Each service has a pepper of its own.
        $0.guarded?.checkValues = [Self.pepper(9), Self.key(1)]
        $0.projects = ["shop-1": ["com.example.app"]]
      },
      process("gateway") {
        ($0.keys.seals, $0.keys.opens, $0.keys.sealsTo) = ("g1", ["g1"], "a1")
        $0.projects = ["shop-1": ["com.example.app"]]
      },
      // Every copy of Config/ has its file, and it is not in use.
      ProcessFacts(
        name: "mail-worker", url: "http://127.0.0.1:8084", isExpected: false,
        readiness: .failure(CommandLineError(.unavailable, "connection refused"))),
    ]
    return facts
  }

  private static func pepper(_ secret: UInt8, isUsed: Bool = true) -> CheckValue {
    CheckValue(file: "pepperFile", code: [secret], isUsed: isUsed)
  }

  private static func key(_ secret: UInt8) -> CheckValue {
    CheckValue(file: "keysFile", id: "k1", code: [secret], isUsed: true)
  }

  private func process(_ name: String, url: String? = nil, _ tell: (inout RuntimeReport) -> Void) -> ProcessFacts {
    var report = RuntimeReport()
    (report.process, report.guarded) = (name, RuntimeReport.Guarded())
    tell(&report)
    return ProcessFacts(
      name: name, url: url ?? "http://\(name)", readiness: .success(HTTPProbeAnswer(status: 200, body: [])),
      report: report)
  }

  private func notReady(_ checks: String) -> Result<HTTPProbeAnswer, CommandLineError> {
    .success(HTTPProbeAnswer(status: 503, body: Array("{\"ready\": false, \"checks\": [\(checks)]}".utf8)))
  }

  private func failures(_ change: (inout DoctorFacts) -> Void) -> [Finding] {
    var facts = healthy
    change(&facts)
    return DoctorCheck.diagnosis(facts).filter { [.failed, .follows].contains($0.status) }
  }

  @Test func `A fictional number that is a person's is told by each process that has refused it`() {
    var facts = healthy
    facts.processes += [
      process("accounts", url: "http://second") { $0.fictionalRefusals = 3 },
      process("accounts", url: "http://third") { $0.fictionalRefusals = 0 },
    ]
    let found = DoctorCheck.diagnosis(facts).filter { $0.check == "fictional numbers" }
    #expect(found.map(\.status) == [.warning])
    #expect(found.first?.detail.contains("http://second has refused 3 sign-ins") == true, "\(found)")
    #expect(found.first?.hint?.contains("fictionalNumbers") == true)
  }

  @Test func `A healthy server has no failure, whatever lies in its directory`() {
    #expect(failures { _ in }.isEmpty)
    let found = DoctorCheck.diagnosis(healthy)
    #expect(!found.contains { $0.status == .warning }, "\(found)")
    #expect(found.first { $0.check == "process mail-worker" }?.status == .note)
  }

  @Test func `Keys that a worker runs with and that do not open what is sealed`() {
    let found = failures { facts in
      facts.processes[1].report?.keys.opens = ["old"]
      facts.management = facts.management.map { known in
        var known = known
        known.queues.append(QueueState(name: "sms.dispatch.dead", messages: 2, ready: 2))
        return known
      }
    }
    #expect(found.map(\.check) == ["keys of sms-worker at http://sms-worker", "dead letters of sms.dispatch"])
    #expect(found.first?.detail.contains("seals with the key k1, and it runs with old") == true)
    #expect(found.last?.cause == found.first?.check)
    let twins = failures { $0.processes[1].report?.guarded?.checkValues = [Self.key(2)] }
    #expect(twins.map(\.check) == ["key k1 of sms-worker at http://sms-worker"])
    let gateway = failures { $0.processes[3].report?.keys.sealsTo = "a0" }
    #expect(gateway.map(\.check) == ["keys of gateway at http://gateway"])
    let unknown = failures { $0.processes[3].report?.keys.seals = "g0" }
    #expect(
      unknown.count == 1 && unknown.allSatisfy { $0.detail.contains("gateway at http://gateway seals with the key g0") }
    )
  }

  @Test func `Processes whose sockets this user may not open are named`() {
    var facts = healthy
    facts.processes[1].report?.guarded = nil
    facts.processes[1].report?.socket = "/run/s"
    let skipped = DoctorCheck.diagnosis(facts).filter { $0.check == "secrets" }
    #expect(skipped.map(\.status) == [.skipped])
    #expect(skipped.first?.detail.contains("sms-worker at http://sms-worker") == true)
  }

  @Test func `Files of accounts that count as a whole differ`() {
    func found(_ first: [CheckValue], _ second: [CheckValue]) -> [String] {
      failures { facts in
        facts.processes[2].report?.guarded?.checkValues += first
        var other = facts.processes[2].report
        other?.guarded?.checkValues = [Self.pepper(9), Self.key(1)] + second
        facts.processes.append(
          ProcessFacts(
            name: "accounts", url: "http://second", readiness: facts.processes[2].readiness, report: other))
      }.map(\.check)
    }
    let files = ["providerSecretsFile", "providers.caFile"]
    let ours = files.map { CheckValue.content([1], file: $0) }
    #expect(found(ours, ours).isEmpty)
    let others = files.map { CheckValue.content([2], file: $0) }
    #expect(found(ours, others) == files.map { "\($0) of accounts at http://second" })
  }

  @Test func `Different peppers of coordinators, unless one names the other's as the former one`() {
    func found(_ values: [CheckValue], isReady: Bool = true) -> [String] {
      failures { facts in
        var second = facts.processes[0]
        second.report?.guarded?.checkValues = values
        if !isReady {
          second.readiness = notReady(#"{"name": "queues", "ok": false, "problem": "pepperFile differs"}"#)
        }
        facts.processes.append(
          ProcessFacts(name: "coordinator", url: "http://second", readiness: second.readiness, report: second.report))
      }.map { "\($0.status): \($0.check)" }
    }
    let cause = "failed: pepper of coordinator at http://second"
    #expect(found([Self.pepper(2)], isReady: false) == [cause, "follows: process coordinator"])
    #expect(found([Self.pepper(2)]) == [cause])
    #expect(found([Self.pepper(1)]).isEmpty)
    #expect(found([Self.pepper(2), Self.pepper(1, isUsed: false)]).isEmpty)
    #expect(found([Self.pepper(2), Self.pepper(3, isUsed: false)]) == [cause])
  }

  @Test func `Regions that a worker refuses or no lane takes`() {
    let refused = failures { $0.processes[1].report?.regions = ["US"] }
    #expect(refused.map(\.detail) == ["the coordinator allows FR, which it refuses (REGION_NOT_ALLOWED)"])
    let lost = failures {
      $0.processes[1].report?.routes = [.init(lane: "twilio", regions: ["US"], prefixes: [])]
    }
    #expect(lost.map(\.detail) == ["no lane takes FR, which the coordinator allows (NO_ROUTE)"])
    let all = failures { $0.processes[0].report?.regions = ["*"] }
    #expect(all.map(\.detail) == ["the coordinator allows all regions, which it refuses (REGION_NOT_ALLOWED)"])
    let wider = failures { $0.processes[1].report?.regions = ["*"] }
    #expect(wider.isEmpty)
  }

  @Test func `Every lane down is a failure with the lane's reason; one of several is to watch`() {
    let reason = "PROVIDER_CREDENTIALS (20003): Twilio refuses the credentials"
    let down = RuntimeReport.Lane(
      name: "twilio", queue: "sms.dispatch", isUp: false, reason: reason, failures: 0, answered: 9)
    let found = failures { facts in
      facts.processes[1].report?.lanes = [down]
      facts.processes[1].readiness = notReady(#"{"name": "jobs", "ok": false, "problem": "no job can be served"}"#)
      facts.management = facts.management.map { known in
        var known = known
        known.queues[0].consumers = 0
        return known
      }
    }
    #expect(found.map(\.status) == [.failed, .follows, .follows])
    #expect(found.first?.detail == "the only lane fails: twilio is down (\(reason))")
    #expect(found.first?.hint?.contains("correct lane twilio in sms-worker.json5") == true)
    var other = down
    (other.name, other.isUp, other.reason) = ("vonage", true, nil)
    var facts = healthy
    facts.processes[1].report?.lanes = [down, other]
    let warned = DoctorCheck.diagnosis(facts).first
    #expect(warned?.check == "lane twilio of sms.dispatch at sms-worker at http://sms-worker")
    #expect(warned?.status == .warning)
  }

  @Test func `A provider that answers 503 to everything is named, with the delays`() {
    let found = failures { facts in
      facts.processes[1].report?.lanes = [
        .init(
          name: "twilio", queue: "sms.dispatch", isUp: true, reason: "PROVIDER_UNAVAILABLE", failures: 3, answered: nil)
      ]
      facts.processes[1].report?.delays = [
        .init(queue: "sms.dispatch", code: "PROVIDER_UNAVAILABLE", detail: "503", count: 3, age: 4)
      ]
    }
    #expect(found.map(\.status) == [.failed, .follows])
    #expect(found[0].detail.contains("its last 3 calls failed (PROVIDER_UNAVAILABLE)"))
    #expect(found[1].detail.contains("3 were delayed since its start, the last one 4 s ago"))
  }

  @Test func `A provider that cannot be reached explains its lanes, and the worker that is not ready`() {
    let found = failures { facts in
      facts.processes[1].report?.lanes = [
        .init(name: "twilio", queue: "sms.dispatch", isUp: false, reason: "NOT_CONNECTED", failures: 0, answered: nil)
      ]
      let address = ProviderCheck.Address(lanes: ["twilio of sms-worker"], base: "http://p", caFile: nil)
      facts.providers = [
        ProviderCheck.Answer(address: address, outcome: .failure(CommandLineError(.unavailable, "connection refused")))
      ]
      facts.processes[1].readiness = notReady(#"{"name": "jobs", "ok": false}"#)
    }
    #expect(found.map(\.status) == [.failed, .follows, .follows])
    #expect(found.first?.check == "provider at http://p (twilio of sms-worker)")
  }

  @Test func `A process that does not answer explains its queue; a hung one is told from a stopped one`() {
    func found(_ problem: String) -> [Finding] {
      failures { facts in
        facts.processes[1].readiness = .failure(CommandLineError(.unavailable, problem))
        facts.processes[1].report = nil
        facts.management = facts.management.map { known in
          var known = known
          known.queues[0].consumers = 0
          return known
        }
      }
    }
    #expect(found("connection refused").map(\.check) == ["process sms-worker", "queue sms.dispatch"])
    #expect(found("connection refused").first?.hint?.hasPrefix("start it") == true)
    #expect(found("127.0.0.1:8081: timed out (firstByte)").first?.hint?.contains("it hangs") == true)
  }

  @Test func `The broker explains processes that wait for it, each hint once`() {
    let away = #"{"name": "broker.consumer", "ok": false, "problem": "lost", "hint": "start it"}"#
    let found = failures { facts in
      facts.service = [Finding("broker, as a service", .failed, "certificate has expired", about: .broker)]
      facts.processes[0].readiness = notReady("\(away), \(away)")
    }
    #expect(found.map(\.check) == ["broker, as a service", "process coordinator"])
    #expect(found.last?.hint == "start it")
    let alone = failures { $0.processes[0].readiness = notReady(away) }
    #expect(alone.map(\.status) == [.failed])
  }

  @Test func `A missing queue explains the process that wants it`() {
    let found = failures { facts in
      facts.management = facts.management.map { known in
        var known = known
        known.topology = TopologyReport(differences: [
          TopologyDifference("queue sms.dispatch is missing", remedy: .byHand("apply"))
        ])
        known.queues.removeFirst()
        return known
      }
      facts.processes[1].readiness = notReady(
        #"{"name": "broker.consumer", "ok": false, "problem": "connecting: notFound: no queue 'sms.dispatch'"}"#)
    }
    #expect(found.map(\.check) == ["topology", "process sms-worker"])
  }

  @Test func `Apps that the coordinator lacks or trusts, and projects that differ`() {
    #expect(
      failures { $0.processes[0].report?.apps = [:] }.first?.detail.contains("has no app com.example.app") == true)
    let trusted = failures { $0.processes[0].report?.apps = ["com.example.app": "trusted"] }
    #expect(trusted.count == 1 && trusted.first?.detail.contains("is 'trusted'") == true)
    let development = failures {
      $0.processes[0].report?.apps = ["com.example.app": "trusted"]
      $0.processes[0].report?.isDevelopment = true
    }
    #expect(development.isEmpty)
    let wrong = failures { $0.processes[3].report?.wrongProjects = "shop-1.json5: number: is required" }
    #expect(wrong.map(\.check) == ["projects of gateway at http://gateway"])
    #expect(wrong.first?.detail.contains("a file is wrong: shop-1.json5: number") == true)
    var facts = healthy
    facts.processes[3].report?.projects = ["shop-1": []]
    #expect(DoctorCheck.diagnosis(facts).first?.check == "projects of gateway at http://gateway")
  }

  @Test(arguments: [(Int64(13), Finding.Status.warning), (15, .ok)])
  func `A certificate that ends within 14 days is to watch`(days: Int64, status: Finding.Status) {
    let now = UnixTime(milliseconds: 1_800_000_000_000)
    let state = CertificateCheck.State(server: "broker", host: "h:5671", end: now + .seconds(days * 86_400))
    #expect(CertificateCheck.finding(state, now: now)?.status == status)
    #expect(CertificateCheck.finding(state, now: now + .seconds(16 * 86_400))?.status == .failed)
    #expect(CertificateCheck.finding(.init(server: "broker", host: "h", end: nil), now: now) == nil)
  }
}

@Suite struct ProcessFactsTests {
  private func report(_ instance: String, socket: String? = nil) throws -> [UInt8] {
    var report = RuntimeReport()
    (report.instance, report.socket, report.now) = (instance, socket, 5)
    return try report.json()
  }

  @Test func `The socket is believed only if the same process answers there`() async throws {
    let answers = [
      "http://x/readyz": HTTPProbeAnswer(status: 200, body: []),
      "http://x/runtime": HTTPProbeAnswer(status: 200, body: try report("w@h/1", socket: "/s")),
    ]
    for (instance, isTaken) in [("w@h/1", true), ("w@other/1", false)] {
      let facts = await ProcessFacts.ask(
        ProcessAddress(name: "w", url: "http://x", isExpected: true), FakeProbe(answers: answers), clock: SystemClock()
      ) { path in
        var whole = RuntimeReport()
        (whole.instance, whole.guarded) = (instance, RuntimeReport.Guarded())
        return path == "/s" ? whole : nil
      }
      #expect((facts.report?.guarded != nil) == isTaken)
      #expect(facts.answers)
    }
  }

  @Test func `Processes are expected where they are configured or enabled, and else asked at the port of their file`()
    throws
  {
    let files = ConfigurationFiles(files: [
      .init(name: "coordinator.json5", directory: "/", settings: []),
      .init(name: "mail-worker.json5", directory: "/", settings: [], integers: ["http.port": 9]),
      .init(name: "simulator.json5", directory: "/", settings: []),
    ])
    let found = ProcessAddress.all(
      [(name: "coordinator", urls: ["http://a", "http://b"]), (name: "gateway", urls: [])], files, units: "/nowhere")
    #expect(
      found == [
        ProcessAddress(name: "coordinator", url: "http://a", isExpected: true),
        ProcessAddress(name: "coordinator", url: "http://b", isExpected: true),
        ProcessAddress(name: "mail-worker", url: "http://127.0.0.1:9", isExpected: false),
      ])
  }
}
