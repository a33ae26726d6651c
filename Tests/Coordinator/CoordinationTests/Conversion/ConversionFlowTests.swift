import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct ConversionFlowTests {
  /// Three of a prefix are enough, and five of a region.
  private static func rules(_ change: (inout CoordinatorRules) -> Void = { _ in }) -> CoordinatorRules {
    Bench.rules { rules in
      rules.conversion.minimumPerPrefix = 3
      rules.conversion.minimumPerRegion = 5
      change(&rules)
    }
  }

  private static func number(_ index: Int, prefix: String = "+1415555") -> String {
    "\(prefix)\(String(1_000 + index))"
  }

  private func start(_ bench: Bench, _ number: String) async throws -> String {
    let id = try await bench.start(number).verificationID
    await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    return id
  }

  /// As the maintenance does once a second.
  private func tidy(_ bench: Bench) async throws {
    await bench.maintenance.tidy()
    _ = bench.sink.takePublished()
    _ = try await bench.relay()
  }

  private func expire(_ bench: Bench, _ count: Int, prefix: String = "+1415555") async throws {
    for index in 0..<count { _ = try await start(bench, Self.number(index, prefix: prefix)) }
    bench.clock.advance(by: .seconds(300))
    try await tidy(bench)
  }

  /// Has verifications of one address, each of a prefix of its own, run out of time.
  private func expire(_ bench: Bench, from client: (Int) -> StartVerification.Client, requester: String? = nil)
    async throws
  {
    for index in 0..<10 {
      let command = StartVerification(
        phoneNumber: Self.number(0, prefix: "+1415\(555 + index)"), app: Bench.app, client: client(index),
        requester: requester)
      let id = try await bench.reply(to: command).verificationID
      await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    }
    bench.clock.advance(by: .seconds(300))
    try await tidy(bench)
  }

  @Test func `One address is one asker, whatever instances and requesters it names, also after a restart`() async throws
  {
    let bench = try await Bench(Self.rules { $0.conversion.minimumPerRegion = 6 })
    try await expire(bench, from: { .init(ip: "192.0.2.1", instance: "browser \($0)") })
    #expect(try await isAccepted(bench, "+12025550100"))
    try await bench.restart()
    #expect(try await isAccepted(bench, "+12025550101"))
    // Another address makes two.
    try await expire(bench, from: { _ in .init(ip: "198.51.100.1") })
    #expect(try await refusal(bench, "+12025550102").reason == "REGION_BLOCKED")
  }

  private func refusal(_ bench: Bench, _ number: String) async throws -> APIError {
    try await bench.error(StartVerification(phoneNumber: number, app: Bench.app))
  }

  private func list(_ bench: Bench) async throws -> ConversionList {
    try ConversionList(json: try await bench.ask(ListConversions(), user: "operator").body)
  }

  private func lift(_ bench: Bench, _ key: String) async throws -> Message {
    try await bench.ask(LiftConversionBlock(key: key), user: "operator")
  }

  private func isAccepted(_ bench: Bench, _ number: String) async throws -> Bool {
    try await bench.ask(StartVerification(phoneNumber: number, app: Bench.app)).type == "verification.started.v1"
  }

  @Test func `A prefix whose codes do not come back is blocked, told of, and refused`() async throws {
    let bench = try await Bench(Self.rules())
    try await expire(bench, 3)
    let event = try #require(try bench.event(ConversionBlocked.self))
    #expect(event.scope == .prefix && event.key == "+1415555" && event.region == "US")
    #expect(event.sent == 3 && event.verified == 0 && event.floorPercent == 10 && event.windowSeconds == 3600)
    #expect(event.blockedAt == bench.clock.now() && event.until == bench.clock.now() + .seconds(43_200))
    let message = try #require(bench.sink.published.first { $0.routingKey == "conversion.blocked" }).message
    #expect(message.correlationID == "+1415555" && message.type == "conversion.blocked.v1")
    let error = try await refusal(bench, Self.number(7))
    #expect(error.code == .tooManyAttempts && error.reason == "PREFIX_BLOCKED" && error.retryAfter == 43_200)
    #expect(try await isAccepted(bench, "+14155561000"))
    let metrics = bench.registry.render()
    #expect(metrics.contains(#"countersign_limited_total{limit="conversion_prefix"} 1"#))
    #expect(metrics.contains(#"countersign_conversion_blocked_total{scope="prefix"} 1"#))
    #expect(metrics.contains(#"countersign_conversion_sent_total{region="US"} 3"#))
    #expect(metrics.contains(#"countersign_conversion_verified_total{region="US"} 0"#))
    #expect(!metrics.contains("+1415"))
    try await bench.listen()
    #expect(bench.registry.render().contains(#"countersign_conversion_blocks{scope="prefix"} 1"#))
    let log = bench.logs.lines().joined(separator: "\n")
    #expect(log.contains("nothing is sent to these numbers for now"))
    #expect(!log.contains("+14155551"), "a full number")
  }

  @Test func `It ends by itself, is not told of then, and the next start goes through`() async throws {
    let bench = try await Bench(Self.rules { $0.conversion.blockLength = .seconds(100) })
    try await expire(bench, 3)
    #expect(try await refusal(bench, Self.number(7)).retryAfter == 100)
    bench.clock.advance(by: .seconds(100))
    #expect(try await isAccepted(bench, Self.number(7)))
    try await tidy(bench)
    #expect(bench.events().isEmpty)
  }

  @Test func `Five of a region, no three of a prefix: the region is blocked`() async throws {
    let bench = try await Bench(Self.rules())
    for prefix in ["+1415555", "+1415556"] {
      for index in 0..<2 { _ = try await start(bench, Self.number(index, prefix: prefix)) }
    }
    try await expire(bench, 1, prefix: "+1415557")
    #expect(try bench.event(ConversionBlocked.self)?.key == "US")
    let error = try await refusal(bench, "+12125551000")
    #expect(error.code == .tooManyAttempts && error.reason == "REGION_BLOCKED")
    #expect(try await isAccepted(bench, "+33612345678"))
    #expect(try await isAccepted(bench, Bench.fictional))
  }

  @Test func `A verification that lives is gone on with, and sends its code again`() async throws {
    let bench = try await Bench(Self.rules())
    for index in 0..<3 { _ = try await start(bench, Self.number(index)) }
    bench.clock.advance(by: .seconds(200))
    let id = try await bench.start(Self.number(7)).verificationID
    bench.clock.advance(by: .seconds(100))
    try await tidy(bench)
    #expect(try await refusal(bench, Self.number(8)).reason == "PREFIX_BLOCKED")
    let again = try await bench.start(Self.number(7))
    #expect(again.verificationID == id && again.resent)
  }

  @Test func `Codes that come back, at the last moment too, keep a prefix open; three wrong ones do not`() async throws
  {
    let bench = try await Bench(Self.rules { $0.policy.checksPerCode = 1 })
    let (id, code) = try await bench.begin(Self.number(0))
    // No result has come yet; the code proves that the message was sent.
    #expect(try await bench.check(id, code).type == "verification.approved.v1")
    for index in 1..<3 {
      let id = try await start(bench, Self.number(index))
      let status = try await bench.status(id)
      #expect(status.state == .sent)
      #expect(try await bench.checkError(id, "x") == .tooManyAttempts)
    }
    try await tidy(bench)
    #expect(bench.events().isEmpty)
    let figures = try await list(bench)
    #expect(figures.prefixes == [.init(key: "+1415555", region: "US", sent: 3, verified: 1)])
    #expect(figures.regions == [.init(key: "US", region: "US", sent: 3, verified: 1)])
    #expect(bench.registry.render().contains(#"countersign_conversion_verified_total{region="US"} 1"#))
  }

  @Test func `Verifications that say nothing about the requester do not count`() async throws {
    let bench = try await Bench(Self.rules())
    // Nothing reported, unknown, refused, expired at the worker, canceled, fictional.
    _ = try await bench.start(Self.number(0))
    for (index, outcome) in [JobOutcome.unknown, .refused, .expired].enumerated() {
      let id = try await bench.start(Self.number(index + 1)).verificationID
      await bench.deliverResults([try bench.result("\(id).sms.1", outcome)])
    }
    let canceled = try await start(bench, Self.number(5))
    _ = try await bench.ask(CancelVerification(verificationID: canceled))
    _ = try await bench.start(Bench.fictional)
    bench.clock.advance(by: .seconds(300))
    try await tidy(bench)
    let figures = try await list(bench)
    #expect(figures.prefixes.isEmpty && figures.regions.isEmpty && figures.blocks.isEmpty)
    #expect(!bench.registry.render().contains("countersign_conversion_sent_total{"))
  }

  private func delivery(_ id: String, _ state: SMSDeliveryReport.State, _ bench: Bench) throws -> Message {
    let delivery = SMSDeliveryReport(jobID: "\(id).sms.1", state: state, lane: "twilio-eu", at: bench.clock.now())
    return Envelope(type: SMSDeliveryReport.type, messageID: delivery.messageID, correlationID: "any", appID: "worker")
      .message(body: try delivery.json())
  }

  @Test func `A message that did not arrive held no code to give back, whenever that is reported`() async throws {
    let bench = try await Bench(Self.rules())
    var ids: [String] = []
    for index in 0..<2 { ids.append(try await start(bench, Self.number(index))) }
    let late = try await start(bench, Self.number(2))
    for id in ids { await bench.deliverResults([try delivery(id, .undelivered, bench)]) }
    bench.clock.advance(by: .seconds(300))
    try await tidy(bench)
    let figures = ConversionList.Figures(key: "+1415555", region: "US", sent: 1, verified: 0)
    #expect(try await list(bench).prefixes == [figures])
    // Networks report when they give up, which is often when the code is not valid any more.
    await bench.deliverResults([try delivery(late, .undelivered, bench)])
    #expect(try await list(bench).prefixes.isEmpty)
    try await bench.restart()
    #expect(try await list(bench).prefixes.isEmpty)
    // It arrived after all.
    await bench.deliverResults([try delivery(late, .delivered, bench)])
    #expect(try await list(bench).prefixes == [figures])
    await bench.deliverResults([try delivery(late, .delivered, bench), try delivery(late, .undelivered, bench)])
    #expect(try await list(bench).prefixes == [figures])
    try await bench.restart()
    #expect(try await list(bench).prefixes == [figures])
  }

  @Test func `Verifications that expire during an outage do not count`() async throws {
    let bench = try await Bench(Self.rules())
    for index in 0..<3 { _ = try await start(bench, Self.number(index)) }
    bench.broker.isThere = false
    bench.clock.advance(by: .seconds(100))
    try await tidy(bench)
    bench.broker.isThere = true
    bench.clock.advance(by: .seconds(200))
    try await tidy(bench)
    #expect(bench.events() == Array(repeating: "verification.expired", count: 3))
    #expect(try await list(bench).prefixes.isEmpty)
    bench.clock.advance(by: .seconds(10))
    try await bench.restart()
    try await tidy(bench)
    #expect(try await list(bench).prefixes.isEmpty, "a later start counts it")
    #expect(bench.events().isEmpty)
    try await expire(bench, 3)
    #expect(try bench.event(ConversionBlocked.self)?.sent == 3)
  }

  @Test func `Verifications that expire while the coordinator is down never count`() async throws {
    let bench = try await Bench(Self.rules())
    for index in 0..<3 { _ = try await start(bench, Self.number(index)) }
    bench.clock.advance(by: .seconds(200))
    try await bench.restart()
    bench.clock.advance(by: .seconds(100))
    try await tidy(bench)
    #expect(try await list(bench).prefixes.isEmpty)
    for _ in 0..<2 {
      bench.clock.advance(by: .seconds(100))
      try await bench.restart()
      try await tidy(bench)
      #expect(try await list(bench).prefixes.isEmpty)
    }
    bench.clock.advance(by: .seconds(3600 + 600 + 1))
    try await bench.restart()
    #expect(try await bench.count("conversionOutage") == 1, "what makes no difference any more is deleted")
  }

  @Test func `The list shows blocks and figures, to operators only`() async throws {
    let bench = try await Bench(Self.rules())
    try await expire(bench, 3)
    let answer = try await list(bench)
    #expect(answer.enabled && answer.floorPercent == 10 && answer.windowSeconds == 3600 && answer.blockCount == 1)
    let block = try #require(answer.blocks.first)
    #expect(block.key == "+1415555" && block.scope == .prefix && block.sent == 3 && block.verified == 0)
    #expect(answer.prefixes.isEmpty, "a prefix begins anew when it is blocked")
    #expect(answer.regions == [.init(key: "US", region: "US", sent: 3, verified: 0)])
    for user in [nil, "service"] {
      let error = try await bench.error(ListConversions(), user: user)
      #expect(error.code == .operationNotAllowed && error.field == "user_id")
      #expect(try await bench.ask(LiftConversionBlock(key: "+1415555"), user: user).type == "error.v1")
    }
    #expect(try await list(bench).blockCount == 1)
    for limit in [0, 101] {
      #expect(try await bench.error(ListConversions(limit: limit), user: "operator").field == "limit")
    }
  }

  @Test func `The longest list fits into a message`() async throws {
    let bench = try await Bench(Self.rules())
    let now = bench.clock.now()
    let count = 2 * ListConversions.maxLimit
    let blocks = (0..<count).map { index in
      ConversionBlock(
        scope: .prefix, key: "+88299999\(1000 + index)", region: "+882", blockedAt: now, until: now + .seconds(9),
        counts: ConversionCounts(sent: 1_000_000, verified: 99_999))
    }
    let conversions = Conversions(
      bench.rules, metrics: ConversionMetrics(MetricsRegistry()), logger: Logger(label: "test", sink: bench.logs))
    let endings = (0..<count).map { index in
      ConversionEnding(
        prefix: "+88299999\(1000 + index)", region: "+\(index)", outcome: .verified, createdAt: now, endedAt: now)
    }
    _ = try await bench.store.transact(at: now) { set throws(StoreError) -> Void in
      // What one of them misses is loaded with what the others miss.
      for ending in endings { try? conversions.count(ending, in: &set) }
      for block in blocks { try? conversions.records.put(block, in: &set) }
    }
    let reply = try await bench.ask(ListConversions(limit: ListConversions.maxLimit), user: "operator")
    let answer = try ConversionList(json: reply.body)
    #expect(answer.blockCount == count)
    #expect([answer.blocks.count, answer.regions.count, answer.prefixes.count] == [100, 100, 100])
    // Counts may have more digits than here.
    #expect(reply.body.count < MessageLimits.maxBodyBytes * 3 / 4)
  }

  @Test func `A lift is answered, told of, and begins anew; the same message twice lifts once`() async throws {
    let bench = try await Bench(Self.rules { $0.conversion.minimumPerRegion = 50 })
    for index in 0..<3 { _ = try await start(bench, Self.number(index)) }
    bench.clock.advance(by: .seconds(299))
    for index in 3..<6 { _ = try await start(bench, Self.number(index)) }
    bench.clock.advance(by: .seconds(1))
    try await tidy(bench)
    let message = try bench.message(LiftConversionBlock(key: "+1415555"), id: "lift", user: "operator")
    _ = bench.sink.takePublished()
    await bench.deliver([message, message])
    #expect(bench.replies.count == 2 && Set(bench.replies.map(\.body)).count == 1)
    let reply = try ConversionLifted(json: try #require(bench.replies.first).body)
    let event = try #require(try bench.event(ConversionLifted.self))
    #expect(event == reply && event.key == "+1415555" && event.liftedAt == bench.clock.now())
    #expect(bench.events() == ["conversion.lifted"])
    #expect(try await isAccepted(bench, Self.number(7)))
    #expect(try await list(bench).blocks.isEmpty)
    // Three that began before the lift run out, and are not held against the prefix.
    bench.clock.advance(by: .seconds(299))
    try await tidy(bench)
    #expect(!bench.events().contains("conversion.blocked"))
    let again = try ErrorReply(json: try await lift(bench, "+1415555").body).error
    #expect(again.code == .invalidArgument && again.reason == "NOT_BLOCKED" && again.field == "key")
  }

  @Test func `A restart forgets neither the block nor a lift, nor what had ended`() async throws {
    let bench = try await Bench(Self.rules())
    let other = "+1415556"
    for index in 0..<2 { _ = try await start(bench, Self.number(index, prefix: other)) }
    try await expire(bench, 3)
    _ = try await bench.error(StartVerification(phoneNumber: "+12125551000", app: Bench.app))
    #expect(try await list(bench).blocks.map(\.key).sorted() == ["+1415555", "US"])
    try await bench.restart()
    #expect(try await refusal(bench, Self.number(7)).code == .tooManyAttempts)
    #expect(try await list(bench).prefixes == [.init(key: other, region: "US", sent: 2, verified: 0)])
    #expect(try await lift(bench, "US").type == "conversion.lifted.v1")
    #expect(try await lift(bench, "+1415555").type == "conversion.lifted.v1")
    bench.clock.advance(by: .seconds(1))
    try await bench.restart()
    try await tidy(bench)
    #expect(bench.events().isEmpty, "what was judged before the lift is judged again")
    #expect(try await isAccepted(bench, Self.number(7)))
    // One more of the prefix that was not blocked completes its three.
    try await expire(bench, 1, prefix: other)
    #expect(try bench.event(ConversionBlocked.self)?.key == other)
  }

  @Test func `A block is stored with the verification that leads to it, and told of after a crash`() async throws {
    let bench = try await Bench(Self.rules())
    for index in 0..<3 { _ = try await start(bench, Self.number(index)) }
    bench.clock.advance(by: .seconds(300))
    try await bench.sweep()
    #expect(try await bench.count("conversionBlock") == 1)
    try await bench.takeOver()
    #expect(try await refusal(bench, Self.number(7)).reason == "PREFIX_BLOCKED")
    try await tidy(bench)
    #expect(try bench.event(ConversionBlocked.self)?.sent == 3)
    #expect(bench.events().count { $0 == "conversion.blocked" } == 1)
  }

  @Test func `The figures are put in order before the transaction, which all others wait for, and are not recorded`()
    async throws
  {
    let bench = try await Bench(Self.rules())
    for prefix in ["+1415555", "+1415556"] { _ = try await start(bench, Self.number(1, prefix: prefix)) }
    try await expire(bench, 1, prefix: "+1415556")
    let kind = try #require(bench.context.registry.commands[ListConversions.type])
    let envelope = Envelope(type: ListConversions.type, messageID: "m", userID: "operator")
    let order = try kind.read(envelope, try ListConversions(limit: 1).json(), bench.clock.now(), [:])
    let staged = try await #require(order.stage).run(StageAccess(context: bench.context))
    var set = WorkingSet(at: bench.clock.now())
    let answer = try #require(try staged.carryOut(envelope, in: &set))
    let list = try ConversionList(json: answer.body)
    #expect(list.prefixes.map(\.key) == ["+1415556"] && list.regions.map(\.key) == ["US"])
    #expect(set.changeCount == 0)
    let before = try await bench.count("inbox")
    _ = try await self.list(bench)
    #expect(try await bench.count("inbox") == before)
  }

  @Test func `A restart judges the whole window, not what is read of it first`() async throws {
    let bench = try await Bench(Self.rules { $0.conversion.minimumPerRegion = 3 })
    for index in 0..<3 { _ = try await start(bench, Self.number(index)) }
    for index in 3..<6 {
      let (id, code) = try await bench.begin(Self.number(index))
      #expect(try await bench.check(id, code).type == "verification.approved.v1")
    }
    bench.clock.advance(by: .seconds(300))
    try await tidy(bench)
    #expect(!bench.events().contains("conversion.blocked"))
    try await bench.restart()
    try await tidy(bench)
    #expect(bench.events().isEmpty)
    #expect(try await list(bench).regions == [.init(key: "US", region: "US", sent: 6, verified: 3)])
  }

  @Test func `When an end cannot be stored, nothing is counted, and it counts once later`() async throws {
    let bench = try await Bench(Self.rules())
    for index in 0..<3 { _ = try await start(bench, Self.number(index)) }
    bench.clock.advance(by: .seconds(300))
    try await bench.run("ALTER TABLE store_counter RENAME TO away")
    await #expect(throws: StoreError.self) { try await bench.sweep() }
    #expect(!bench.registry.render().contains("countersign_conversion_sent_total{"))
    try await bench.run("ALTER TABLE away RENAME TO store_counter")
    try await tidy(bench)
    #expect(try bench.event(ConversionBlocked.self)?.sent == 3)
    #expect(bench.registry.render().contains(#"countersign_conversion_sent_total{region="US"} 3"#))
  }

  @Test func `Rows of blocks go when they make no difference any more`() async throws {
    let bench = try await Bench(Self.rules { $0.conversion.blockLength = .seconds(100) })
    try await expire(bench, 3)
    bench.clock.advance(by: .seconds(100 + 3600 + 599))
    try await tidy(bench)
    #expect(try await bench.count("conversionBlock") == 1)
    bench.clock.advance(by: .seconds(1))
    try await tidy(bench)
    #expect(try await bench.count("conversionBlock") == 0)
  }

  @Test func `Nothing is assessed for a number that would be refused`() async throws {
    let bench = try await Bench(Self.rules())
    try await expire(bench, 3)
    let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp, number: Self.number(7))
    #expect(try await bench.error(command).reason == "PREFIX_BLOCKED")
    #expect(try bench.published(RecaptchaAssessJob.self).isEmpty)
    #expect(try await bench.count("assessment") == 0)
  }

  @Test func `A refused start uses up no limit`() async throws {
    let bench = try await Bench(Self.rules())
    try await expire(bench, 3)
    let before = try await bench.dump("counter")
    _ = try await refusal(bench, Self.number(7))
    #expect(try await bench.dump("counter") == before)
  }
}
