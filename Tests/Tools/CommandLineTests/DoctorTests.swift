import CountersignAMQP
import FoundationEssentials
import Testing

@testable import CommandLine

struct FakeProbe: HTTPProbe {
  let answers: [String: HTTPProbeAnswer]

  func get(_ url: String) async throws(CommandLineError) -> HTTPProbeAnswer {
    guard let answer = answers[url] else { throw CommandLineError(.unavailable, "connection refused") }
    return answer
  }
}

@Suite struct ClockCheckTests {
  @Test(
    arguments: [
      (Int64(900), Finding.Status.ok), (-1900, .ok), (-10_000, .warning), (60_000, .failed), (-600_000, .failed),
    ])
  func `Judges the difference`(ahead: Int64, status: Finding.Status) {
    #expect(ClockCheck.findings([ClockCheck.Reading("x", ahead: ahead)]).map(\.status) == [status])
  }

  @Test func `Names the process whose clock is wrong, and the direction`() {
    let clocks = [("coordinator at http://a", Int64(-600_000)), ("gateway at http://b", 100), ("the broker", -400)]
    let findings = ClockCheck.findings(clocks.map { ClockCheck.Reading("clock of \($0.0)", ahead: $0.1) })
    #expect(findings.map(\.check) == ["clock of coordinator at http://a"])
    #expect(findings.first?.detail == "is 600 s behind this machine's")
  }

  @Test func `If most others agree with each other, the clock of this machine is wrong`() {
    let clocks = [("a", Int64(30_100)), ("b", 29_800), ("c", 30_000), ("d", 90_000)]
    let findings = ClockCheck.findings(clocks.map { ClockCheck.Reading("clock of \($0.0)", ahead: $0.1) })
    #expect(findings.map(\.check) == ["clock of this machine", "clock of d"])
    #expect(
      findings.map(\.detail) == ["is 30 s behind those of 3 of 4 others", "is 60 s ahead of those of the others"])
  }
}

@Suite struct QueueCountTests {
  private func finding(_ queues: [String], owners: [String: String] = [:]) async throws -> Finding? {
    let listed = queues.map { #"{"name": "\#($0)"}"# }.joined(separator: ",")
    var answers = ["/api/queues/%2F": "[\(listed)]"]
    answers["/api/connections"] = #"[{"name": "a -> b", "user": "billing"}, {"name": "c -> d"}]"#
    for (queue, connection) in owners {
      answers["/api/queues/%2F/\(queue)?columns=owner_pid_details"] =
        #"{"owner_pid_details": {"name": "\#(connection)", "peer_port": 1}}"#
    }
    let api = ManagementAPI(transport: FakeManagement(answers), virtualHost: "/")
    return try await QueueCountCheck.findings(api).first
  }

  private func names(_ count: Int, _ prefix: String) -> [String] { (0..<count).map { "\(prefix)\($0)" } }

  @Test func `Up to 80 percent there is room`() async throws {
    let found = try await finding(names(800, "countersign.reply.orders."))
    #expect(found == Finding("queues of the virtual host", .ok, "800 of at most 1000"))
  }

  @Test func `Beyond it the user with most queues is named`() async throws {
    let own = names(500, "countersign.reply.orders.x.")
    let found = try await finding(own + names(301, "amq.gen-"))
    #expect(found?.status == .warning)
    #expect(found?.detail.hasPrefix("801 of at most 1000, most of them of user orders: ") == true)
  }

  @Test func `Exclusive queues are their connections'`() async throws {
    let exclusive = names(700, "amq.gen-")
    let owners = Dictionary(uniqueKeysWithValues: exclusive.map { ($0, $0.hasSuffix("0") ? "c -> d" : "a -> b") })
    let found = try await finding(exclusive + names(101, "countersign.reply.orders."), owners: owners)
    #expect(found?.detail.hasPrefix("801 of at most 1000, most of them of user billing: ") == true)
  }

  @Test func `An owner that cannot be told is left out`() async throws {
    let found = try await finding(names(900, "amq.gen-"))
    #expect(found?.detail.hasPrefix("900 of at most 1000: ") == true)
  }
}

@Suite struct QueueCheckTests {
  @Test func `A queue that nobody consumes is a failure`() {
    let findings = QueueCheck.findings(
      [
        QueueState(name: "sms.dispatch", messages: 3, ready: 3, unacknowledged: 0, consumers: 0)
      ], inUse: [])
    #expect(findings.map(\.status) == [.failed])
    #expect(findings.first?.detail == "no consumer; 3 messages wait")
  }

  @Test func `The queue of a worker that is not used is no failure, until jobs for it arrive`() {
    func findings(_ ready: Int, _ inUse: Set<String>) -> [Finding.Status] {
      QueueCheck.findings(
        [QueueState(name: "push.verify", messages: ready, ready: ready, unacknowledged: 0, consumers: 0)],
        inUse: inUse
      ).map(\.status)
    }
    #expect(findings(0, ["coordinator"]) == [.ok])
    #expect(findings(1, ["coordinator"]) == [.failed])
    #expect(findings(0, ["push-worker"]) == [.failed])
  }

  @Test func `More webhook-workers are no remedy for events that wait`() {
    func hint(_ queue: String) -> String? {
      QueueCheck.findings(
        [QueueState(name: queue, messages: 10_001, ready: 10_001, unacknowledged: 0, consumers: 1)], inUse: []
      ).first?.hint
    }
    #expect(hint("webhook.events")?.contains("too slowly") == true)
    #expect(hint("sms.dispatch") == "start more of the sms-worker")
  }

  @Test func `Delayed jobs that do not come back are to watch`() {
    let step = "countersign.retry.sms.bulk.5s"
    func findings(_ ready: Int) -> [Finding] {
      QueueCheck.delays([QueueState(name: step, messages: 4, ready: ready, unacknowledged: 0, consumers: 0)])
    }
    #expect(findings(4).isEmpty)
    #expect(findings(1).map(\.detail) == ["3 delayed jobs cannot return to their work queue"])
  }

  @Test func `A queue that is switched on by configuration may be unused`() {
    func bulk(_ ready: Int) -> Finding? {
      QueueCheck.findings(
        [
          QueueState(name: "sms.bulk", messages: ready, ready: ready, unacknowledged: 0, consumers: 0)
        ], inUse: ["sms-worker"]
      ).first
    }
    #expect(bulk(0)?.status == .ok)
    #expect(bulk(1)?.status == .failed)
    #expect(bulk(1)?.hint?.contains("start the sms-worker with bulk.share") == true)
  }

  @Test func `A site may do without accounts, until commands wait`() {
    func commands(_ ready: Int) -> Finding? {
      QueueCheck.findings(
        [
          QueueState(name: "accounts.commands", messages: ready, ready: ready, unacknowledged: 0, consumers: 0)
        ], inUse: []
      ).first
    }
    #expect(commands(0)?.status == .ok)
    #expect(commands(1)?.status == .failed)
    #expect(commands(1)?.hint?.contains("start accounts,") == true)
  }

  @Test func `Messages that are nowhere wait for their dead queue`() {
    let findings = QueueCheck.findings(
      [
        QueueState(name: "sms.dispatch", messages: 5, ready: 1, unacknowledged: 2, consumers: 1)
      ], inUse: [])
    #expect(findings.map(\.detail) == ["2 messages wait to be dead-lettered"])
  }

  @Test func `Dead letters are to watch`() {
    let findings = QueueCheck.findings(
      [
        QueueState(name: "coordinator.results", messages: 0, ready: 0, unacknowledged: 0, consumers: 1),
        QueueState(name: "coordinator.results.dead", messages: 7, ready: 7, unacknowledged: 0, consumers: 0),
      ], inUse: [])
    #expect(findings.map(\.status) == [.ok, .warning])
    #expect(findings.last?.check == "dead letters of coordinator.results")
  }

  @Test(
    arguments: [("3.10.8", Finding.Status.ok), ("4.1.0", .ok), ("3.9.29", .failed), ("?", .failed)])
  func `The broker has to be new enough`(version: String, status: Finding.Status) {
    #expect(BrokerCheck.version(version).status == status)
  }

  @Test func `Users that were not compared are said so`() {
    let unchecked = BrokerCheck.topology(TopologyReport(differences: [], unchecked: "nobody may"))
    #expect(unchecked.map(\.status) == [.ok, .skipped])
    let noted = BrokerCheck.topology(TopologyReport(differences: [], notes: ["user billing has the rights of service"]))
    #expect(noted.map(\.status) == [.ok, .note])
    let wrong = TopologyDifference("user a has the tag impersonator", remedy: .byHand("x"))
    #expect(BrokerCheck.topology(TopologyReport(differences: [wrong])).map(\.status) == [.failed])
  }
}

@Suite struct FileCheckTests {
  func withFiles(_ files: [String: String], _ body: (String) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    for (name, text) in files {
      try Data(text.utf8).write(to: directory.appending(path: name))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: directory.appending(path: name).path)
    }
    try body(directory.path)
  }

  @Test func `Says which files are missing empty or open`() throws {
    try withFiles([
      "a.json5": """
      { // comments are allowed
        broker: { passwordFile: 'good' }, lanes: { one: { tokenFile: 'missing', baseURL: 'https://user@x.example/a' } },
        pepperFile: 'empty', database: { path: 'data.sqlite' } }
      """,
      "good": "secret", "empty": "", "data.sqlite": "this is no database", "b.json5": "{ not JSON5",
    ]) { directory in
      let findings = FileChecks.findings(try ConfigurationFiles(directory: directory))
      let texts = findings.filter { $0.status != .ok }.map(\.check)
      #expect(
        texts == [
          "a.json5: database.path", "a.json5: lanes.one.tokenFile", "a.json5: pepperFile", "configuration b.json5",
        ])
    }
  }

  @Test func `A database in a directory that does not exist may be elsewhere by the environment of its process`() throws
  {
    try withFiles(["a.json5": "{ database: { path: 'gone/data.sqlite' } }"]) { directory in
      let findings = FileChecks.findings(try ConfigurationFiles(directory: directory))
      #expect(findings.map(\.check) == ["a.json5: database.path"])
      #expect(findings.first?.status == .failed)
      #expect(findings.first?.hint?.contains("mkdir -p \(directory)/gone; if the process takes the path") == true)
    }
  }

  @Test func `A secret that everybody may read is to watch`() throws {
    try withFiles(["a.json5": "{ keysFile: 'keys' }", "keys": "{}"]) { directory in
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(directory)/keys")
      let findings = FileChecks.findings(try ConfigurationFiles(directory: directory))
      #expect(findings.map(\.status) == [.warning])
    }
  }

  @Test(arguments: [(1, Finding.Status.warning), (2, .ok)])
  func `A ledger near its bound is to watch`(bound: Int, status: Finding.Status) throws {
    try withFiles([
      "a.json5": "{ ledger: { path: 'l.sqlite', maxMegabytes: \(bound) } }",
      "l.sqlite": "SQLite format 3\u{0}" + String(repeating: "x", count: 1 << 20),
    ]) { directory in
      let findings = FileChecks.findings(try ConfigurationFiles(directory: directory))
      #expect(findings.map(\.status) == [status])
    }
  }

  @Test(arguments: ["postgresql", "none"])
  func `The path of a file that is not used is not looked at`(type: String) throws {
    try withFiles([
      "a.json5": "{ ledger: { type: '\(type)', path: '/nowhere/at/all/ledger.sqlite' } }"
    ]) { directory in
      let files = try ConfigurationFiles(directory: directory)
      #expect(FileChecks.findings(files).map(\.status) == [.ok])
    }
  }

  @Test func `Files that are all there are one line`() throws {
    try withFiles(["a.json5": "{ keysFile: 'keys' }", "keys": "{}"]) { directory in
      let findings = FileChecks.findings(try ConfigurationFiles(directory: directory))
      #expect(findings.map(\.status) == [.ok])
    }
  }

  @Test func `Providers are asked once each, as their lanes trust them`() async throws {
    func setting(_ path: String, _ value: String) -> ConfigurationFiles.Setting {
      ConfigurationFiles.Setting(path: path, value: value)
    }
    let file = ConfigurationFiles.File(
      name: "sms-worker", directory: "/",
      settings: [
        setting("lanes.0.name", "first"), setting("lanes.0.baseURL", "https://one.example"),
        setting("lanes.0.caFile", "/ca.pem"), setting("lanes.1.baseURL", "https://one.example"),
        setting("lanes.2.name", "third"), setting("lanes.2.baseURL", "https://one.example"),
        setting("other.url", "http://not.a.lane"),
      ])
    let addresses = ProviderCheck.addresses(ConfigurationFiles(files: [file]))
    #expect(addresses.map(\.lanes) == [["first of sms-worker"], ["1 of sms-worker", "third of sms-worker"]])
    #expect(addresses.map(\.caFile) == ["/ca.pem", nil])
    let gone = ProviderCheck.Answer(
      address: addresses[0], outcome: .failure(CommandLineError(.unavailable, "connection refused")))
    #expect(ProviderCheck.finding(gone, isReachedByWorker: false).status == .failed)
    #expect(ProviderCheck.finding(gone, isReachedByWorker: true).status == .note)
  }
}

@Suite struct ConfigurationCheckTests {
  @Test func `Each process checks its own file`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    for name in ["coordinator", "sms-worker", "coordinator.json5", "sms-worker.json5", "other.json5", "other"] {
      try Data("{}".utf8).write(to: directory.appending(path: name))
    }
    let check = ConfigurationCheck(programs: directory.path) { path, arguments in
      #expect(arguments == ["--check", "--config", "\(path).json5"])
      return path.hasSuffix("/coordinator")
        ? ChildProcess.Outcome(status: 0, output: "fine")
        : ChildProcess.Outcome(status: 78, output: "broker.ulr: unknown key (did you mean broker.url?)\n")
    }
    let findings = await check.findings(try ConfigurationFiles(directory: directory.path))
    #expect(findings.map(\.status) == [.ok, .failed])
    #expect(findings.last?.detail == "broker.ulr: unknown key (did you mean broker.url?)")
  }

  @Test func `A key that is only absent from the file may come from the variables of a unit`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    for name in ["sms-worker", "sms-worker.json5"] { try Data("{}".utf8).write(to: directory.appending(path: name)) }
    let check = ConfigurationCheck(programs: directory.path) { _, _ in
      ChildProcess.Outcome(status: 78, output: "sms-worker: keysFile: is missing: name the file\n")
    }
    #expect(await check.findings(try ConfigurationFiles(directory: directory.path)).map(\.status) == [.warning])
  }

  @Test func `A program is run to its end`() async throws {
    let outcome = try #require(await ChildProcess.run("/bin/sh", ["-c", "echo out; echo err >&2; exit 7"]))
    #expect(outcome.status == 7)
    #expect(outcome.output == "out\nerr\n")
    #expect(await ChildProcess.run("/nowhere/program", []) == nil)
  }

  @Test func `A program that says a lot is heard to its end`() async throws {
    let outcome = try #require(await ChildProcess.run("/bin/sh", ["-c", "yes | head -c 1000000; kill -9 $$"]))
    #expect(outcome.status == 137)
    #expect(outcome.output.utf8.count == ChildProcess.maxOutput)
  }
}

@Suite struct BrokerHostsCheckTests {
  private func state(_ number: Int, _ outcome: Result<String?, CommandLineError>) -> BrokerHostsCheck.State {
    .init(host: BrokerHost("h\(number)", port: 5672), outcome: outcome)
  }

  private let away = CommandLineError(.unavailable, "cannot connect")

  @Test func `Hosts that do not answer are warnings, while others do`() {
    let findings = BrokerHostsCheck.findings([
      state(1, .success("c")), state(2, .failure(away)), state(3, .success("c")),
    ])
    #expect(findings.map(\.status) == [.warning, .ok])
    #expect(findings[0].check == "broker host h2:5672")
    #expect(findings[1].detail == "2 of 3 answer, as one cluster")
  }

  @Test func `A host that refuses the user is not said to be down`() {
    let refused = CommandLineError(.notPermitted, "the broker refuses user 'service' or the password")
    let findings = BrokerHostsCheck.findings([state(1, .success("c")), state(2, .failure(refused))])
    #expect(findings.map(\.status) == [.warning, .ok])
    #expect(findings[0].hint?.contains("start the node") == false)
    #expect(findings[0].hint?.contains("users") == true)
  }

  @Test func `Two brokers in one list are a failure`() {
    let findings = BrokerHostsCheck.findings([state(1, .success("c")), state(2, .success("d"))])
    #expect(findings.map(\.status) == [.failed])
    #expect(findings[0].detail.contains("h1:5672 is of the cluster 'c', h2:5672 of 'd'"))
  }

  @Test func `Without an answer nothing is said of the cluster`() {
    #expect(BrokerHostsCheck.findings([state(1, .failure(away)), state(2, .success(nil))]).count == 1)
  }
}

@Suite struct HTTPAddressTests {
  @Test(
    arguments: [
      ("http://u:p%40ss@h:15672/", "http://h:15672", "u:p@ss"), ("https://h", "https://h", nil),
      ("http://[::1]:80/x?y", "http://[::1]:80", nil),
    ])
  func `Takes an address apart`(text: String, base: String, credentials: String?) throws {
    let address = try HTTPAddress(text)
    #expect(address.base == base)
    #expect(address.credentials == credentials)
  }

  @Test(arguments: ["", "h:15672", "ftp://h", "http://"])
  func `Refuses what is none`(text: String) {
    #expect(throws: CommandLineError.self) { try parse(text) }
    #expect(throws: CommandLineError.self) { try list(text) }
  }

  @Test(
    arguments: [
      ("http://u:p%40s,s@h:15672/", ["http://h:15672"]),
      ("https://u:p%40s%2Cs@a,b:1", ["https://a:443", "https://b:1"]),
      ("HTTP://u:p%40s%2Cs@[::1]:15672,localhost/", ["http://[::1]:15672", "http://localhost:80"]),
    ])
  func `Reads the hosts of a list, each with the user`(text: String, bases: [String]) throws {
    let addresses = try list(text)
    #expect(addresses.map(\.base) == bases)
    #expect(addresses.allSatisfy { $0.credentials == "u:p@s,s" })
  }

  @Test(
    arguments: [
      "http://u:secret@a,", "http://u:secret@a,a", "http://a,b:0", "http://u:secret@a,b c", "ftp://a,b",
      "http://u:secret@a,u:secret@b", "http://u:secret@a,u:secret@b,c", "http://u:secret@a,http://u:secret@b",
      "https://a,u:secret@b", "https://u:secret@a,http://b",
    ])
  func `Refuses a wrong list without repeating it`(text: String) {
    let error = #expect(throws: CommandLineError.self) { try list(text) }
    #expect(error?.code == .configuration)
    #expect(error?.description.contains("secret") == false)
  }

  private func list(_ text: String) throws -> [HTTPAddress] { try HTTPAddress.list(text) }

  /// Untyped, because a closure with a typed error in an expectation crashes the compiler (6.3.1).
  private func parse(_ text: String) throws -> HTTPAddress { try HTTPAddress(text) }
}
