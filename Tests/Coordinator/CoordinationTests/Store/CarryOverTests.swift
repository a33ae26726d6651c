import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination

/// The program goes on with everything that a database of version 13 holds.
@Suite struct CarryOverTests {
  /// Has the earlier version write what is there, and the new one begin on it.
  private func upgrade(_ bench: Bench) async throws {
    try await bench.becomeVersion13()
    _ = bench.sink.takePublished()
    #expect(try await bench.carryOver() == [:])
    #expect(try await bench.earlierTables() == ["crash_mark"])
    #expect(!bench.registry.render().contains(/countersign_rows_skipped_total\{[^}]*\} [1-9]/))
  }

  private func tooOften(_ bench: Bench, _ number: String = Bench.number) async throws -> Bool {
    let reply = try await bench.ask(StartVerification(phoneNumber: number, app: Bench.app))
    guard reply.type == "error.v1" else { return false }
    return try ErrorReply(json: reply.body).error.code == .tooManyAttempts
  }

  // MARK: Flows

  @Test func `A new database has no earlier tables after its first start`() async throws {
    try await Bench.with { bench in
      let tables = try await bench.earlierTables()
      #expect(tables.count > 1)
      #expect(try await bench.carryOver() == [:])
      #expect(try await bench.earlierTables() == ["crash_mark"])
      #expect(try await bench.carryOver() == [:])
    }
  }

  @Test func `A live code comes back, through each of its handles, and what it counted counts`() async throws {
    try await Bench.with(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 2 }) { bench in
      let first = try await bench.start(ip: "192.0.2.1")
      let code = try #require(try bench.jobs().first?.code)
      let second = try VerificationStarted(
        json: try await bench.ask(
          StartVerification(phoneNumber: Bench.number, app: Bench.app, requester: "somebody else")
        ).body)
      #expect(second.verificationID != first.verificationID)
      _ = try await bench.checkError(first.verificationID, Bench.wrong(code))
      try await upgrade(bench)
      #expect(try await bench.count("verification") == 1)
      #expect(try await bench.status(second.verificationID).state == .sending)
      // The number has one live verification, which the start goes on with.
      #expect(try await bench.start(ip: "192.0.2.1").verificationID == first.verificationID)
      await bench.deliverResults([try bench.result("\(first.verificationID).sms.1", .accepted)])
      #expect(try await bench.check(second.verificationID, code).type == "verification.approved.v1")
      #expect(try await bench.status(first.verificationID).state == .expired)
      _ = try await bench.start()
      #expect(try await bench.ask(CancelVerification(verificationID: bench.start().verificationID)).type != "error.v1")
      #expect(try await tooOften(bench))
      #expect(try await !tooOften(bench, "+14155550199"))
    }
  }

  @Test func `Verifications that are over can be asked about, and are deleted in time`() async throws {
    try await Bench.with { bench in
      let over = try await bench.start()
      let code = try #require(try bench.jobs().first?.code)
      _ = try await bench.check(over.verificationID, code)
      let late = try await bench.start("+14155550177")
      bench.clock.advance(by: .seconds(300))
      try await upgrade(bench)
      #expect(try await bench.status(over.verificationID).state == .approved)
      try await bench.sweep()
      #expect(try await bench.status(late.verificationID).state == .expired)
      bench.clock.advance(by: .seconds(86_400))
      try await bench.sweep()
      #expect(try await bench.count("verification") == 0)
    }
  }

  @Test func `A command that comes again gets its recorded answer`() async throws {
    try await Bench.with { bench in
      let command = StartVerification(phoneNumber: Bench.number, app: Bench.app)
      let answer = try await bench.ask(command, id: "m", user: "service")
      try await upgrade(bench)
      let again = try await bench.ask(command, id: "m", user: "service")
      #expect(again.body == answer.body && again.type == answer.type)
      #expect(try bench.jobs().isEmpty)
      let other = StartVerification(phoneNumber: "+14155550177", app: Bench.app)
      let error = try ErrorReply(json: try await bench.ask(other, id: "m", user: "service").body).error
      #expect(error.reason == "MESSAGE_ID_REUSED")
    }
  }

  @Test func `Answers go that are too old, or were recorded before keys had senders`() async throws {
    try await Bench.with { bench in
      for number in 0..<3 { _ = try await bench.start("+1415555010\(number)") }
      try await bench.becomeVersion13()
      try await bench.run("INSERT INTO inbox_without_sender SELECT min(number) FROM inbox")
      let ahead = (bench.clock.now() + .seconds(1_000_000)).milliseconds
      try await bench.run("UPDATE inbox SET received_at = \(ahead) WHERE number = (SELECT max(number) FROM inbox)")
      bench.clock.advance(by: .seconds(3_600))
      #expect(try await bench.carryOver() == [:])
      // Its clock was ahead.
      #expect(try await bench.count("inbox") == 1)
      bench.clock.advance(by: .seconds(3_600))
      await bench.maintenance.tidy()
      #expect(try await bench.count("inbox") == 0)
    }
    try await Bench.with { bench in
      for number in 0..<3 { _ = try await bench.start("+1415555010\(number)") }
      try await bench.becomeVersion13()
      try await bench.run("INSERT INTO inbox_without_sender SELECT min(number) FROM inbox")
      #expect(try await bench.carryOver() == [:])
      #expect(try await bench.count("inbox") == 2)
    }
  }

  @Test func `A start that waits for reCAPTCHA goes on, and its command keeps its place`() async throws {
    try await Bench.with { bench in
      let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp)
      await bench.deliver([try bench.message(command, id: "m", replyTo: "amq.gen-me")])
      let job = try #require(try bench.published(RecaptchaAssessJob.self).first?.id)
      try await upgrade(bench)
      await bench.deliver([try bench.message(command, id: "m", replyTo: "amq.gen-me")])
      #expect(bench.sink.published.isEmpty)
      await bench.deliverResults([try bench.report(RecaptchaAssessJob.self, job, .accepted)])
      #expect(bench.replies.map(\.type) == ["verification.started.v1"])
      #expect(try bench.published(SMSDispatchJob.self).first?.job.to == Bench.number)
      #expect(try await bench.error(command).reason == "CAPTCHA_REPLAYED")
    }
  }

  @Test func `Receipts, refused tokens and revocations stay what they were`() async throws {
    try await Bench.with { bench in
      let other = String(repeating: "1B", count: 32)
      let pair = try await bench.receipt()
      let refused = try await bench.receipt(token: other)
      await bench.deliverResults([
        try bench.report(PushVerifyJob.self, "\(refused.receipt).push.1", .refused, reason: "UNREGISTERED")
      ])
      let token = AppleToken(.refreshToken, SecretField(Secret("apple-token")))
      let revoke = StartRevocation(app: Bench.app, token: token, notify: .init(email: "somebody@example.com"))
      let started = try OperationStarted(json: try await bench.ask(revoke).body)
      try await upgrade(bench)
      #expect(try await bench.operation(pair.receipt).state == .running)
      let start = try await bench.ask(bench.startCommand(Bench.pair(pair.receipt, pair.secret)))
      #expect(start.type == "verification.started.v1")
      let error = try await bench.error(VerifyApp(app: Bench.pushApp, deviceToken: other, environment: .sandbox))
      #expect(error.reason == "UNREGISTERED")
      let again = try OperationStarted(json: try await bench.ask(revoke).body)
      #expect(again.operationID == started.operationID && again.repeated)
      await bench.deliverResults([
        try bench.report(
          AppleRevokeJob.self, "\(started.operationID).revoke.1", .accepted, extras: ["stage": "revoked"])
      ])
      #expect(try bench.published(MailRelayJob.self).first?.job.to == "somebody@example.com")
    }
  }

  // MARK: Messages

  private func message(_ id: String, _ bench: Bench, discardAfter: UnixTime? = nil) -> OutgoingMessage {
    var message = OutgoingMessage(
      .optional, to: (Topology.Exchanges.events, "test.\(id)"), type: MessageType("test"), messageID: id,
      correlationID: "c", cause: nil, at: bench.clock.now(), body: Array("{}".utf8))
    message.causationID = "m"
    message.discardAfter = discardAfter
    return message
  }

  @Test func `Messages that were not published go out once, in their order`() async throws {
    try await Bench.with { bench in
      let now = bench.clock.now()
      try await bench.run(
        (0..<3).map { row in
          EarlierRow13.outbox((0..<200).map { message("\(row * 200 + $0)", bench) }, at: now)
        })
      try await bench.run([EarlierRow13.outbox([message("late", bench, discardAfter: now)], at: now)])
      #expect(try await bench.carryOver() == [:])
      _ = bench.sink.takePublished()
      while try await bench.relay() {}
      #expect(bench.eventIDs() == (0..<600).map(String.init))
      _ = bench.sink.takePublished()
      _ = try await bench.relay()
      try await bench.takeOver()
      _ = try await bench.relay()
      #expect(bench.sink.published.isEmpty)
      #expect(try await bench.count("outbox") == 0)
    }
  }

  @Test func `A job that the process before may have published is dropped without a word when it is late`() async throws
  {
    try await Bench.with { bench in
      let started = try await bench.start()
      let sent = try #require(bench.sink.published.first { $0.exchange == Topology.Exchanges.jobs })
      var job = OutgoingMessage(
        .kept, to: (sent.exchange, sent.routingKey), type: SMSDispatchJob.type,
        messageID: try #require(sent.message.messageID), correlationID: nil, cause: nil, at: bench.clock.now(),
        body: sent.message.body)
      job.discardAfter = bench.clock.now() + .seconds(60)
      await bench.maintenance.end()
      try await bench.run([EarlierRow13.outbox([job], at: bench.clock.now())])
      bench.clock.advance(by: .seconds(60))
      #expect(try await bench.carryOver() == [:])
      _ = try await bench.relay()
      let events = try await bench.status(started.verificationID).timeline.map(\.event)
      #expect(!events.contains("sms.expired"))
      #expect(try await bench.count("outbox") == 0)
    }
  }

  @Test func `A push waits for the reply to its command, and for no longer than before`() async throws {
    try await Bench.with { bench in
      let identity = MessageIdentity(sender: "service", messageID: "m")
      let pushes = [message("push", bench), message("other", bench)]
      for (key, delay) in [(identity.key, 20), ("elsewhere", 1_000_000)] {
        try await bench.run([
          Statement(
            "INSERT INTO held_job (command_id, due_at, messages) VALUES (?, ?, ?)",
            [
              .text(key), .integer((bench.clock.now() + .seconds(delay)).milliseconds),
              .blob(EarlierRow13.encoded(pushes)),
            ])
        ])
      }
      #expect(try await bench.carryOver() == [:])
      _ = bench.sink.takePublished()
      _ = try await bench.relay()
      #expect(bench.eventIDs() == [])
      #expect(try await bench.count("held") == 4)
      bench.clock.advance(by: .seconds(20))
      _ = try await bench.relay()
      #expect(bench.eventIDs() == ["push", "other"])
      bench.clock.advance(by: .seconds(10))
      _ = try await bench.relay()
      #expect(bench.eventIDs() == ["push", "other", "push", "other"])
    }
  }

  // MARK: Conversion

  /// Has verifications of a prefix run out of time.
  private func expire(_ bench: Bench, _ count: Int) async throws {
    for index in 0..<count {
      let id = try await bench.start("+1415555\(1_000 + index)").verificationID
      await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    }
    bench.clock.advance(by: .seconds(300))
    try await bench.sweep()
  }

  private func counts(_ bench: Bench) async throws -> ConversionCounts {
    let ending = ConversionEnding(
      prefix: "+1415555", region: "US", outcome: .expired, createdAt: bench.clock.now(), endedAt: bench.clock.now())
    let key = ConversionKey(.prefix, of: ending)
    var keys = StoreKeys()
    try bench.conversions.counters.addKeys(of: key, to: &keys, at: bench.clock.now())
    return try bench.conversions.counters.counts(
      of: key, in: await bench.store.read(StoreLoad(keys), at: bench.clock.now()))
  }

  @Test func `Verifications that ended within the window are counted again, unless an outage excuses them`()
    async throws
  {
    try await Bench.with { bench in
      // Long over when the others end.
      try await expire(bench, 1)
      bench.clock.advance(by: .seconds(3_600))
      try await expire(bench, 3)
      let id = try await bench.start("+14155559999").verificationID
      _ = try await bench.check(id, try #require(try bench.jobs().first?.code))
      #expect(try await counts(bench) == ConversionCounts(sent: 4, verified: 1))
      try await upgrade(bench)
      #expect(try await counts(bench) == ConversionCounts(sent: 4, verified: 1))
      #expect(bench.registry.render().contains("countersign_conversion_sent_total{region=\"US\"} 5"))
    }
    try await Bench.with { bench in
      try await expire(bench, 3)
      try await bench.becomeVersion13()
      let now = bench.clock.now()
      try await bench.run([EarlierRow13.outage(ConversionOutage(since: now - .seconds(200), until: now))])
      #expect(try await bench.carryOver() == [:])
      #expect(try await counts(bench) == ConversionCounts(sent: 0, verified: 0))
    }
  }

  @Test func `A block holds until its end, and is kept for a while`() async throws {
    try await Bench.with(Bench.rules { $0.conversion.minimumPerPrefix = 3 }) { bench in
      try await expire(bench, 3)
      #expect(try await bench.count("conversionBlock") == 1)
      try await upgrade(bench)
      let command = StartVerification(phoneNumber: "+14155551234", app: Bench.app)
      #expect(try await bench.error(command).reason == "PREFIX_BLOCKED")
      let list = try ConversionList(json: try await bench.ask(ListConversions(), user: "operator").body)
      #expect(list.blocks.map(\.key) == ["+1415555"])
      // Those from before the block do not count again.
      #expect(try await counts(bench) == ConversionCounts(sent: 0, verified: 0))
      bench.clock.advance(by: .seconds(12 * 3600))
      #expect(try await bench.ask(command).type == "verification.started.v1")
    }
  }

  // MARK: Interruptions

  /// Copies a verification, each for a number of its own.
  private func copy(_ count: Int, _ bench: Bench) async throws {
    let columns = """
      version, state, live, due_at, app, region, is_test, language, code, created_at, expires_at, resend_after, ended_at,
      checks, messages, failure_code, failure_detail, timeline, asked_late, purpose, subject, requester, handles, source
      """
    try await bench.run([
      Statement(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO verification (id, phone_number, \(columns))
        SELECT id || i, '+1212' || (5550000 + i), \(columns) FROM verification, n
        """, [Value(count)])
    ])
    try await bench.run([
      Statement(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO usage (subject, counts, expires_at)
        SELECT 'n' || i, 's:600000=' || ? || '*2', ? FROM n
        """,
        [
          Value(count), .integer(bench.clock.now().milliseconds),
          .integer((bench.clock.now() + .seconds(600)).milliseconds),
        ])
    ])
  }

  @Test func `A process that dies after any page goes on where it was, and doubles nothing`() async throws {
    try await Bench.with { bench in
      _ = try await bench.start()
      try await bench.becomeVersion13()
      try await copy(1_200, bench)
      let sends = try await bench.number("SELECT count(*) FROM usage")
      for page in 1...4 {
        try await bench.carryPage()
        #expect(try await bench.count("verification") == min(512 * page, 1_201))
      }
      #expect(try await bench.number("SELECT count(*) FROM verification") == 0)
      #expect(try await bench.number("SELECT count(*) FROM usage") == 0)
      let sum = "SELECT sum(count) FROM store_counter WHERE CAST(key AS TEXT) LIKE 'n%'"
      #expect(try await bench.number(sum) == 2_401)
      #expect(sends >= 1_201)
      #expect(try await bench.carryOver() == [:])
      #expect(try await bench.earlierTables() == ["crash_mark"])
      #expect(try await bench.count("verification") == 1_201)
    }
  }

  @Test func `What is carried is told every few thousand rows`() async throws {
    try await Bench.with { bench in
      _ = try await bench.start()
      try await bench.becomeVersion13()
      try await copy(9_000, bench)
      #expect(try await bench.carryOver() == [:])
      let counts = bench.logs.events.filter { $0.metadata["table"] == .string("verification") }
        .compactMap { $0.metadata[.count] }
      #expect(counts == [.integer(8_192), .integer(9_001)])
    }
  }

  // MARK: Damage

  private static let damage = [
    ("verification", "UPDATE verification SET state = 'thinking'"),
    ("verification", "UPDATE verification SET code = x'01'"),
    ("verification", "UPDATE verification SET handles = '['"),
    ("verification", "UPDATE verification SET id = 'a b'"),
    ("app_proof", "UPDATE app_proof SET push = 'thrown'"),
    ("app_proof", "UPDATE app_proof SET secret = x''"),
    ("revocation", "UPDATE revocation SET notice = 'nobody'"),
    ("usage", "UPDATE usage SET counts = counts || ';z:1=1*1' WHERE substr(subject, 1, 1) = 'n'"),
    ("usage", "UPDATE usage SET counts = 's' WHERE substr(subject, 1, 1) = 'n'"),
    ("inbox", "UPDATE inbox SET reply_type = 'what' WHERE number = 1"),
    ("outbox", "UPDATE outbox SET messages = x'0263'"),
    ("outbox", "UPDATE outbox SET messages = substr(messages, 1, length(messages) - 1)"),
    ("held_job", "UPDATE held_job SET messages = x''"),
    ("conversion_block", "UPDATE conversion_block SET scope = 'world'"),
    ("refused_token", "UPDATE refused_token SET environment = 'nowhere'"),
    ("assessment", "UPDATE assessment SET command = '{}'"),
  ]

  /// One row of each table.
  private func fill(_ bench: Bench) async throws {
    _ = try await bench.receipt()
    _ = try await bench.start()
    let token = AppleToken(.refreshToken, SecretField(Secret("apple-token")))
    _ = try await bench.ask(StartRevocation(app: Bench.app, token: token, notify: .init(email: "a@example.com")))
    let waiting = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp, number: "+14155550188")
    await bench.deliver([try bench.message(waiting)])
    try await bench.becomeVersion13()
    let now = bench.clock.now()
    try await bench.run("DELETE FROM outbox")
    try await bench.run([
      EarlierRow13.outbox([message("1", bench), message("2", bench)], at: now),
      Statement(
        "INSERT INTO held_job (command_id, due_at, messages) VALUES ('m', ?, ?)",
        [.integer(now.milliseconds), .blob(EarlierRow13.encoded([message("3", bench)]))]),
      EarlierRow13.block(
        ConversionBlock(
          scope: .prefix, key: "+1999555", region: "US", blockedAt: now, until: now + .seconds(60), liftedAt: nil,
          counts: ConversionCounts(sent: 9, verified: 0))),
      Statement(
        "INSERT INTO refused_token (token_hash, environment, code, detail, expires_at) VALUES (x'01', 'sandbox', 'X', NULL, ?)",
        [.integer((now + .seconds(60)).milliseconds)]),
    ])
  }

  @Test(arguments: damage)
  func `A row that cannot be read is left and told, at each start, and nothing else is`(
    table: String, statement: String
  ) async throws {
    try await Bench.with { bench in
      try await fill(bench)
      try await bench.run(statement)
      let before = try await bench.number("SELECT count(*) FROM \(table)")
      for start in 1...2 {
        #expect(try await bench.carryOver() == [table: 1])
        #expect(bench.registry.render().contains("countersign_rows_skipped_total{table=\"\(table)\"} \(start)"))
        #expect(bench.logs.events.count { $0.level == .error } == start)
      }
      #expect(before > 0)
      #expect(try await bench.number("SELECT count(*) FROM \(table)") == 1)
      let companions = ["inbox": ["inbox_without_sender"], "verification": ["verification_handle"]][table] ?? []
      #expect(try await bench.earlierTables() == (["crash_mark", table] + companions).sorted())
      let names = ["verification", "appProof", "revocation", "refusedToken", "assessment", "conversionBlock"]
      var count = 0
      for name in names { count += try await bench.count(name) }
      #expect(count == (["usage", "inbox", "outbox", "held_job"].contains(table) ? 6 : 5))
    }
  }

  @Test func `A row that cannot be read goes when a readable one would: no number stays for ever`() async throws {
    try await Bench.with { bench in
      try await fill(bench)
      for (_, statement) in Self.damage { try await bench.run(statement) }
      let left = try await bench.carryOver()
      #expect(Set(left.keys) == Set(Self.damage.map(\.0)))
      bench.clock.advance(by: .seconds(40 * 86_400))
      let kept = try await bench.carryOver()
      #expect(Set(kept.keys) == ["outbox", "held_job"])
      #expect(try await bench.earlierTables() == ["crash_mark", "held_job", "outbox"])
    }
  }

  @Test(
    arguments: [("app_proof", "receipt"), ("assessment", "id"), ("revocation", "id"), ("verification", "id")])
  func `A row whose ID no record can have is left, and goes once it is over`(table: String, column: String) async throws
  {
    try await Bench.with { bench in
      try await fill(bench)
      try await bench.run("UPDATE \(table) SET \(column) = 'a b'")
      #expect(try await bench.carryOver() == [table: 1])
      bench.clock.advance(by: .seconds(40 * 86_400))
      #expect(try await bench.carryOver() == [:])
      #expect(try await bench.earlierTables() == ["crash_mark"])
    }
  }

  @Test func `A live verification that came back meanwhile keeps its number, and the row waits`() async throws {
    try await Bench.with { bench in
      let first = try await bench.start()
      try await bench.becomeVersion13()
      try await bench.run("UPDATE verification SET purpose = 'someday'")
      #expect(try await bench.carryOver() == ["verification": 1])
      let second = try await bench.start()
      #expect(second.verificationID != first.verificationID)
      try await bench.run("UPDATE verification SET purpose = 'signIn'")
      #expect(try await bench.carryOver() == ["verification": 1])
      #expect(try await bench.status(second.verificationID).state == .sending)
      bench.clock.advance(by: .seconds(300))
      try await bench.sweep()
      #expect(try await bench.carryOver() == [:])
      try await bench.sweep()
      #expect(try await bench.status(first.verificationID).state == .expired)
    }
  }
}
