import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Mail
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

final class FakeBackend: OperatorBackend {
  let management: FakeManagement
  let dead: FakeDeadQueue
  let delayed: FakeDelayedQueues
  let reply: Result<JSONValue, CommandLineError>
  /// By the types of commands, before ``reply``.
  private let replies: [String: JSONValue]
  let sent = Mutex<[String]>([])
  let jobs = Mutex<[EnqueuedJob]>([])
  /// Authorities that probes were lent with.
  let caFiles = Mutex<[String?]>([])
  /// Acts that were announced.
  let noted = Mutex<[NoteAct]>([])
  private let noteFailure: CommandLineError?
  let configDirectory: String? = nil

  func brokerURL(of user: String) throws(CommandLineError) -> String { "amqp://\(user)@localhost:5672/%2F" }

  let accounts: FakeAccounts
  let probe: FakeProbe

  init(
    management: FakeManagement = FakeManagement(), dead: [Message] = [], deadIn: String = "sms.dispatch.dead",
    otherDead: [String: Int] = [:], delayed: [String: [Message]] = [:],
    noteFailure: CommandLineError? = nil,
    reply: Result<JSONValue, CommandLineError> = .failure(CommandLineError(.unavailable, "nobody")),
    replies: [String: JSONValue] = [:],
    accounts: FakeAccounts = FakeAccounts { _, _ in .failure(CommandLineError(.unavailable, "nobody")) },
    probe: FakeProbe = FakeProbe(answers: [:])
  ) {
    self.probe = probe
    self.accounts = accounts
    self.noteFailure = noteFailure
    self.management = management
    self.dead = FakeDeadQueue(dead, queue: deadIn, others: otherDead)
    self.delayed = FakeDelayedQueues(delayed)
    self.reply = reply
    self.replies = replies
  }

  func withManagement<Result: Sendable>(
    _ body: (ManagementAPI) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result {
    try await body(ManagementAPI(transport: management, virtualHost: "/"))
  }

  func withDeadQueue<Result: Sendable>(
    _ body: (any DeadQueue) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result { try await body(dead) }

  func withDelayedQueues<Result: Sendable>(
    _ body: (any DelayedQueues) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result { try await body(delayed) }

  func send<C: Command>(_ command: C, timeout: Duration) async throws(CommandLineError) -> C.Reply {
    do {
      let text = String(decoding: try command.json(), as: UTF8.self)
      sent.withLock { $0.append("\(C.type) \(text) \(timeout)") }
      let json = try replies[C.type.name] ?? reply.get()
      return try C.Reply(json: Array(json.json().utf8))
    } catch let error as CommandLineError {
      throw error
    } catch {
      throw CommandLineError(.internalError, "\(error)")
    }
  }

  func sendAsOperator<C: Command>(_ command: C, timeout: Duration) async throws(CommandLineError) -> C.Reply {
    if let act = command as? NoteAct { return try note(act) }
    sent.withLock { $0.append("as operator") }
    return try await send(command, timeout: timeout)
  }

  func sendForSecret<C: SecretReplyCommand>(
    _ command: C, timeout: Duration
  ) async throws(CommandLineError) -> (reply: C.Reply, id: String) {
    (try await sendAsOperator(command, timeout: timeout), "secret")
  }

  private func note<Reply: MessageBody>(_ act: NoteAct) throws(CommandLineError) -> Reply {
    noted.withLock { $0.append(act) }
    if let noteFailure { throw noteFailure }
    do { return try Reply(json: Array("{}".utf8)) } catch { throw CommandLineError(.internalError, "\(error)") }
  }

  func withAccounts<Result: Sendable>(
    _ body: @Sendable (any AccountsConnection) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result { try await body(accounts) }

  func withProbe<Result: Sendable>(
    caFile: String?, _ body: (any HTTPProbe) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result {
    caFiles.withLock { $0.append(caFile) }
    return try await body(probe)
  }

  func enqueue(_ job: EnqueuedJob, timeout: Duration) async throws(CommandLineError) -> JobResult {
    jobs.withLock { $0.append(job) }
    do {
      return try JobResult(json: Array(try reply.get().json().utf8))
    } catch let error as CommandLineError {
      throw error
    } catch {
      throw CommandLineError(.internalError, "\(error)")
    }
  }

  func mailConfiguration(file: String?) throws(CommandLineError) -> MailWorkerConfiguration {
    guard let file else { throw CommandLineError(.configuration, "no file") }
    do {
      return try MailWorkerConfiguration.load(file: file, environment: [:]).content
    } catch {
      throw CommandLineError(.configuration, error.description)
    }
  }

  func diagnoseDatabases(configDirectory: String?, timeout: Duration) async -> [Finding] {
    [Finding("database", .note, "no configuration file names PostgreSQL")]
  }

  func diagnoseMail(_ configuration: MailWorkerConfiguration, timeout: Duration) async -> [Finding] { [] }

  func diagnose(configDirectory: String?, timeout: Duration) async -> [Finding] {
    [
      Finding("broker", .ok, "RabbitMQ 3.10.8"),
      Finding("topology", .failed, "queue x is missing", hint: "countersign topology apply"),
    ]
  }
}

struct Run {
  let code: ExitCode
  let output: String
  let error: String

  init(_ backend: FakeBackend, input: String = "", _ arguments: String...) async {
    await self.init(backend, input: input, arguments: arguments)
  }

  init(_ backend: FakeBackend, input: String = "", arguments: [String]) async {
    let written = Mutex((output: "", error: ""))
    let program = CountersignProgram(
      streams: ProgramStreams(
        output: { text in written.withLock { $0.output += text } },
        error: { text in written.withLock { $0.error += text } },
        input: { () throws(CommandLineError) in Array(input.utf8) }),
      clock: ManualClock(UnixTime(rfc3339: "2026-07-01T12:00:00Z") ?? UnixTime(milliseconds: 0)),
      connect: { (_) throws(CommandLineError) in backend })
    code = await program.run(arguments)
    (output, error) = written.withLock { $0 }
  }
}

@Suite struct VerifyCommandTests {
  static let started = JSONValue.object([
    "verificationID": .text("v1"), "app": .text("com.example.app"), "phoneNumber": .text("+14155550123"),
    "codeLength": .integer(6), "expiresAt": .text("2026-07-01T12:05:00Z"), "resendAfter": .integer(30),
    "resent": .bool(false), "testNumber": .bool(false),
  ])

  @Test func `Start sends what was asked for`() async {
    let backend = FakeBackend(reply: .success(Self.started))
    let run = await Run(
      backend, "verify", "start", "4155550123", "--region", "US", "--language", "pt-BR", "--timeout", "3s")
    #expect(run.code == .success)
    #expect(run.output.contains("verification ID  v1"))
    #expect(run.output.contains("2026-07-01T12:05:00Z"))
    let sent = backend.sent.withLock { $0 }
    #expect(sent.count == 1)
    for part in [
      "verification.start.v1", "\"region\":\"US\"", "\"languageCode\":\"pt-BR\"", "com.example.app", "3.0 seconds",
    ] {
      #expect(sent.first?.contains(part) == true, "\(part)")
    }
  }

  @Test func `A start carries the purpose of the code, its subject and its requester`() async {
    let backend = FakeBackend(reply: .success(Self.started))
    let run = await Run(
      backend, "verify", "start", "+14155550123", "--purpose", "secondFactorSignIn", "--subject", "account-1",
      "--requester", "client-1")
    #expect(run.code == .success)
    let sent = backend.sent.withLock { $0.first } ?? ""
    for part in [
      #""purpose":"secondFactorSignIn""#, #""subject":"account-1""#, #""requester":"client-1""#,
    ] {
      #expect(sent.contains(part), "\(part)")
    }
    let wrong = await Run(FakeBackend(), "verify", "start", "+14155550123", "--purpose", "signin")
    #expect(wrong.code == .usage)
    #expect(wrong.error.contains("did you mean signIn?"))
  }

  @Test func `A check repeats app, purpose and subject of the code`() async {
    let backend = FakeBackend(reply: .failure(CommandLineError(.unavailable, "nobody answers")))
    _ = await Run(
      backend, "verify", "check", "v1", "123456", "--app", "com.example.app", "--purpose", "secondFactorSignIn",
      "--subject", "account-1")
    let sent = backend.sent.withLock { $0.first } ?? ""
    for part in [#""app":"com.example.app""#, #""purpose":"secondFactorSignIn""#, #""subject":"account-1""#] {
      #expect(sent.contains(part), "\(part)")
    }
  }

  @Test func `Start prints the reply as JSON`() async {
    let run = await Run(FakeBackend(reply: .success(Self.started)), "--json", "verify", "start", "+14155550123")
    #expect(run.output == Self.started.json() + "\n")
  }

  @Test func `A refusal has its code and its wait`() async {
    let refusal = CommandLineError(APIError(.tooManyAttempts, "too many", retryAfter: 40))
    let run = await Run(FakeBackend(reply: .failure(refusal)), "verify", "check", "v1", "123456", "--json")
    #expect(run.code == .failure)
    #expect(run.error.contains("TOO_MANY_ATTEMPTS_TRY_LATER: too many (try again in 40 s)"))
    #expect(run.output.contains("\"code\":\"TOO_MANY_ATTEMPTS_TRY_LATER\""))
    #expect(run.output.contains("\"retryAfter\":40"))
  }

  @Test func `The timeline names processes and reasons`() async {
    let status = JSONValue.object([
      "verificationID": .text("v1"), "app": .text("com.example.app"), "phoneNumber": .text("+14155550123"),
      "state": .text("approved"), "expiresAt": .text("2026-07-01T12:05:00Z"),
      "timeline": .array([
        .object(["at": .text("2026-07-01T12:00:00Z"), "event": .text("started")]),
        .object([
          "at": .text("2026-07-01T12:00:00.25Z"), "event": .text("sms.accepted"), "job": .integer(1),
          "lane": .text("twilio"), "worker": .text("sms-worker-2"), "reference": .text("SM1"), "segments": .integer(2),
        ]),
        .object([
          "at": .text("2026-07-01T12:00:01Z"), "event": .text("check.refused"), "reason": .text("INVALID_CODE"),
          "by": .text("accounts"),
        ]),
      ]),
    ])
    let run = await Run(FakeBackend(reply: .success(status)), "verify", "status", "v1")
    #expect(run.output.contains("approved: +14155550123"))
    #expect(run.output.contains("2026-07-01T12:00:00.000Z  coordinator   started"))
    #expect(run.output.contains("sms-worker-2  sms.accepted   1    twilio  reference SM1, 2 segments"))
    #expect(run.output.contains("check.refused               INVALID_CODE, by accounts"))
  }

  @Test(arguments: ["status", "cancel"])
  func `A number in place of an ID leads to find`(command: String) async {
    for number in ["+14155550123", "4155550123", "+1 (415) 555-0123", "(415) 555-0123"] {
      let backend = FakeBackend(reply: .success(Self.started))
      let run = await Run(backend, "verify", command, number)
      #expect(run.code == .usage && run.error.contains("countersign verify find NUMBER"), "\(number)")
      #expect(!run.error.contains("0123") && backend.sent.withLock { $0.isEmpty })
    }
    let ids = ["AZ8bVrh3OFdqKQxHf2YJ0lQx9wHvzA", "012345678901234567890123456789", "123-v"]
    for id in ids {
      #expect(await Run(FakeBackend(), "verify", command, id).code == .unavailable, "\(id)")
    }
  }
}

@Suite struct EnqueueCommandTests {
  static func result(_ outcome: String) -> JSONValue {
    .object([
      "jobID": .text("j1"), "outcome": .text(outcome), "lane": .text("twilio"), "attempts": .integer(1),
      "startedAt": .text("2026-07-01T12:00:00Z"), "finishedAt": .text("2026-07-01T12:00:01Z"), "segments": .integer(1),
    ])
  }

  @Test func `A body without a deadline gets one`() async {
    let backend = FakeBackend(reply: .success(Self.result("accepted")))
    let run = await Run(
      backend, input: #"{"to": "+14155550123", "text": "Hello"}"#, "enqueue", "sms.dispatch", "--deadline", "2m",
      "--id", "j1")
    #expect(run.code == .success)
    #expect(run.output.contains("accepted:  job j1"))
    let job = backend.jobs.withLock { $0.first }
    #expect(job?.messageID == "j1")
    #expect(
      job.map { String(decoding: $0.body, as: UTF8.self) }?.contains("\"deadline\":\"2026-07-01T12:02:00Z\"") == true)
  }

  @Test func `A message that can wait goes to its queue`() async {
    let input = #"{"to": "+14155550123", "text": "Hello"}"#
    for (more, queue) in [([], nil), (["--bulk"], "sms.bulk")] {
      let backend = FakeBackend(reply: .success(Self.result("accepted")))
      let run = await Run(backend, input: input, arguments: ["enqueue", "sms.dispatch"] + more)
      #expect(run.code == .success)
      #expect(backend.jobs.withLock { $0.map(\.queue) } == [queue])
    }
    let run = await Run(FakeBackend(), input: "{}", "enqueue", "apple.revoke", "--bulk")
    #expect(run.code == .usage)
    #expect(run.error.contains("--bulk is for sms.dispatch"))
  }

  @Test func `An outcome that is not accepted is a failure`() async {
    let run = await Run(
      FakeBackend(reply: .success(Self.result("refused"))), input: #"{"to": "+14155550123", "text": "Hello"}"#,
      "enqueue", "sms.dispatch.v1")
    #expect(run.code == .failure)
  }

  @Test(
    arguments: [
      ("{", "NOT_JSON"), ("[]", "NOT_JSON"), (#"{"text": "Hello"}"#, "MISSING_FIELD: to"),
      (#"{"to": "+14155550123"}"#, "text is missing"),
      (#"{"to": "+14155550123", "text": "x", "deadline": "soon"}"#, "INVALID_FIELD: deadline"),
    ])
  func `A body that the worker would refuse is not sent`(body: String, message: String) async {
    let backend = FakeBackend()
    let run = await Run(backend, input: body, "enqueue", "sms.dispatch")
    #expect(run.code == .badInput)
    #expect(run.error.contains(message))
    #expect(backend.jobs.withLock { $0.isEmpty })
  }

  @Test func `A type that nobody serves is said so`() async {
    let run = await Run(FakeBackend(), input: "{}", "enqueue", "sms.dispach")
    #expect(run.code == .usage)
    #expect(run.error.contains("did you mean sms.dispatch?"))
  }
}

@Suite struct OtherCommandTests {
  @Test func `Topology check fails with what is missing`() async {
    let run = await Run(FakeBackend(), "topology", "check")
    #expect(run.code == .failure)
    #expect(run.output.contains("queue sms.dispatch is missing"))
    #expect(run.output.contains("countersign topology apply"))
  }

  @Test func `Apply counts what is a lot`() async {
    let backend = FakeBackend()
    let run = await Run(backend, "topology", "apply")
    let topology = TopologyDeclaration.countersign
    let counts =
      "\(topology.all(.exchanges).count) exchanges, \(topology.all(.queues).count) queues, "
      + "\(topology.all(.bindings).count) bindings and \(topology.all(.policies).count) policies"
    #expect(run.output.hasPrefix("declared \(counts)\n"))
    // The broker of the test forgets what it is told, so everything is still missing afterwards.
    #expect(run.code == .failure)
  }

  @Test(
    arguments: [
      (false, nil, ExitCode.success), (false, "nobody may", .noPermission), (true, "nobody may", .failure),
    ])
  func `A check that left users out says so`(differs: Bool, unchecked: String?, code: ExitCode) {
    let differences = differs ? [TopologyDifference("queue x is missing", remedy: .apply([], deed: "declared"))] : []
    let output = TopologyCommand.Check.output(TopologyReport(differences: differences, unchecked: unchecked))
    #expect(output.exitCode == code)
    #expect(output.text.contains("note: nobody may") == (unchecked != nil))
  }

  @Test func `A user of a services own is spelled out`() async {
    let run = await Run(FakeBackend(), "topology", "user", "billing", "--like", "service")
    #expect(run.code == .success)
    let lines = run.output.split(separator: "\n")
    #expect(
      lines.map { $0.split(separator: " ").prefix(3).joined(separator: " ") } == [
        "rabbitmqctl add_user billing", "rabbitmqctl set_permissions billing", "rabbitmqctl set_user_limits billing",
      ])
    #expect(lines[1].contains(#"'^(amq\.gen-.*|countersign\.reply\.billing\..*)$'"#))
  }

  @Test func `A queue that keeps events is declared for a service`() async {
    let backend = FakeBackend()
    let run = await Run(backend, "topology", "user", "billing", "--like", "service", "--events")
    #expect(run.code == .success)
    #expect(backend.management.writes.map(\.line) == ["PUT /api/queues/%2F/countersign.events.billing"])
    #expect(backend.management.writes.first?.body.contains(#""arguments":{"x-queue-type":"quorum"}"#) == true)
    // Of the output, every line is a command.
    #expect(run.output.split(separator: "\n").allSatisfy { $0.hasPrefix("rabbitmqctl ") })
    let known = FakeBackend()
    #expect(await Run(known, "topology", "user", "service", "--events").code == .success)
    #expect(known.management.writes.map(\.line) == ["PUT /api/queues/%2F/countersign.events.service"])
    let other = FakeBackend()
    #expect(await Run(other, "topology", "user", "sms-worker", "--events").code == .usage)
    #expect(other.management.writes.isEmpty)
  }

  @Test(
    arguments: [
      ["bil.ling", "--like", "service"], ["billing", "--like", "operator"], ["billing"],
      ["sender", "--like", "service"],
      ["a'b", "--like", "sender"],
    ])
  func `A user that cannot be is refused`(arguments: [String]) async {
    let run = await Run(FakeBackend(), arguments: ["topology", "user"] + arguments)
    #expect(run.code == .usage)
  }

  @Test func `Apply lists what is little`() {
    let difference = TopologyDifference("queue x is missing", remedy: .apply([], deed: "declared queue x"))
    let output = TopologyCommand.Apply.output(fixed: [difference], left: TopologyReport(differences: []))
    #expect(output.text == "declared queue x\nthe topology is complete")
    #expect(output.exitCode == .success)
  }

  @Test func `Drop shows first and does it only with yes`() async {
    let backend = FakeBackend(dead: [DeadLettersTests.message("a")])
    let shown = await Run(backend, "dead", "drop")
    #expect(shown.code == .failure)
    #expect(shown.output.contains("1 would be removed"))
    #expect(backend.dead.left == ["a"])
    let again = FakeBackend(dead: [DeadLettersTests.message("a")])
    let done = await Run(again, "dead", "drop", "--yes")
    #expect(done.code == .success)
    #expect(again.dead.left == [])
  }

  @Test(arguments: [true, false])
  func `Options of a group are taken before and after the command`(isBefore: Bool) async {
    let backend = FakeBackend(dead: [DeadLettersTests.message("a")], deadIn: "mail.relay.dead")
    let queue = ["--queue", "mail.relay"]
    let run = await Run(
      backend, arguments: isBefore ? ["dead"] + queue + ["drop", "--yes"] : ["dead", "drop", "--yes"] + queue)
    #expect(run.code == .success)
    #expect(backend.dead.left == [])
  }

  @Test func `A dry run publishes nothing`() async {
    let backend = FakeBackend(dead: [DeadLettersTests.message("a")])
    let run = await Run(backend, "dead", "redrive", "--dry-run")
    #expect(run.output.contains("1 would be redriven"))
    #expect(backend.dead.published.isEmpty)
  }

  @Test func `Show covers what may be secret`() async {
    let message = Message(
      headers: ["x-dead-reason": "INVALID_FIELD", "x-own": "654321"], messageID: "a", type: "sms.dispatch.v1",
      body: Array(RedactedJSONTests.body.utf8))
    let run = await Run(FakeBackend(dead: [message]), "dead", "show", "a")
    #expect(run.code == .success)
    #expect(run.output.contains("INVALID_FIELD"))
    #expect(!run.output.contains("654321"))
    let revealed = await Run(FakeBackend(dead: [message]), "dead", "show", "a", "--reveal")
    #expect(revealed.output.contains("654321"))
  }

  @Test func `Without a queue all are looked at`() async {
    let backend = FakeBackend(dead: [DeadLettersTests.message("a")], deadIn: "mail.relay.dead")
    let listed = await Run(backend, "dead", "list")
    #expect(listed.output.contains("mail.relay") && listed.output.contains("NOT_JSON"), "\(listed.output)")
    let again = FakeBackend(dead: [DeadLettersTests.message("a")], deadIn: "mail.relay.dead")
    #expect(await Run(again, "dead", "list", "--queue", "sms.dispatch").output.contains("no dead letter matches"))
    // What changes something changes one queue.
    _ = await Run(again, "dead", "drop", "--yes")
    #expect(again.dead.left == ["a"])
  }

  @Test func `Letters of queues beyond the limit are counted`() async {
    let letters = ["a", "b", "c"].map { DeadLettersTests.message($0) }
    let backend = FakeBackend(dead: letters, otherDead: ["mail.relay.dead": 5, "sms.bulk.dead": 2])
    let run = await Run(backend, "dead", "list", "--limit", "1")
    #expect(run.output.hasSuffix("\n9 more were not looked at: the limit was reached\n"), "\(run.output)")
  }

  @Test func `A letter that is not there is said so`() async {
    let run = await Run(FakeBackend(), "dead", "show", "nothing")
    #expect(run.code == .failure)
    #expect(run.error.contains("there is no dead letter nothing of coordinator.commands, "))
  }

  @Test func `The doctor says what to fix`() async {
    let run = await Run(FakeBackend(), "doctor")
    #expect(run.code == .failure)
    #expect(run.output.contains("FAILED  topology: queue x is missing\n        hint: countersign topology apply"))
  }

  @Test(
    arguments: [
      ["verify", "start"], ["verify", "strat", "x"], ["nothing"], [], ["dead", "list", "--limit", "0"],
      ["dead", "list", "--queue", "elsewhere"], ["verify", "status", "v1", "--timeout", "soon"],
    ])
  func `Wrong arguments are said so`(arguments: [String]) async {
    let written = Mutex("")
    let program = CountersignProgram(
      streams: ProgramStreams(
        output: { _ in }, error: { text in written.withLock { $0 += text } },
        input: { () throws(CommandLineError) in [] }),
      clock: SystemClock(), connect: { (_) throws(CommandLineError) in FakeBackend() })
    #expect(await program.run(arguments) == .usage)
    #expect(written.withLock { $0.hasPrefix("countersign: ") })
  }
}
