import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Webhooks

@Suite(.timeLimit(.minutes(10))) struct DeliveryTests {
  @Test func `Each event is delivered once, in order for its subject, to each webhook that takes it`() async throws {
    try await WebhookBench.with { bench in
      let ids = [try await bench.add("verification.*"), try await bench.add("*"), try await bench.add("account.*")]
      try await bench.verify("a", 0..<3)
      try await bench.verify("b", 0..<2)
      #expect(try await bench.show(ids[0])?.waiting == 5)
      #expect(try await bench.show(ids[2])?.waiting == 0)
      // One of a subject is on its way at a time.
      let first = try await bench.claim()
      #expect(Set(first.map { "\($0.webhook.id.text) \($0.job)" }).count == 4)
      #expect(first.allSatisfy { $0.job.hasSuffix(" 0") })
      #expect(try await bench.claim().isEmpty)
      try await bench.settle(first, .delivered)
      let rest = try await bench.drain()
      #expect(rest.count == 6)
      #expect(rest.filter { $0 == "a 1" }.count == 2 && rest.filter { $0 == "a 2" }.count == 2)
      let (last, first2) = (try #require(rest.lastIndex(of: "a 1")), try #require(rest.firstIndex(of: "a 2")))
      #expect(last < first2)
      #expect(try await bench.show(ids[0])?.waiting == 0)
    }
  }

  @Test func `An event that the broker delivers again is queued once, also after its delivery`() async throws {
    try await WebhookBench.with { bench in
      try await bench.add("*")
      let event = try bench.event("account.deleted", #""localID":"u""#, id: "m", user: Topology.Users.accounts)
      await bench.deliver(reports: [event, event])
      #expect(try await bench.drain().count == 1)
      await bench.deliver(reports: [event])
      #expect(try await bench.drain().isEmpty)
    }
  }

  @Test func `Events of other users, and bodies that are no object, are dead letters`() async throws {
    try await WebhookBench.with { bench in
      try await bench.add("*")
      let forged = try bench.event("account.deleted", #""localID":"u""#, user: "service")
      var broken = try bench.event("account.deleted", "")
      broken.message.body = Array("[]".utf8)
      await bench.deliver(reports: [forged, try bench.event("account.deleted", #""localID":"v""#), broken])
      #expect(bench.published(on: Topology.Exchanges.dead).count == 2)
      #expect(try await bench.drain().count == 1)
    }
  }

  @Test func `What a killed worker had under way is delivered by the next one, and its own outcome comes too late`()
    async throws
  {
    try await WebhookBench.several { start in
      let first = try await start()
      try await first.add("*")
      try await first.verify("a", 0..<2)
      let lost = try await first.claim()
      let second = try await start()
      #expect(try await second.claim().isEmpty)
      second.clock.advance(by: Lane.claimTime)
      let again = try await second.claim()
      #expect(again.map(\.job) == ["a 0"] && again.map(\.event.messageID) == lost.map(\.event.messageID))
      try await first.settle(lost, .refused(status: 503))
      try await second.settle(again, .delivered)
      #expect(try await second.drain() == ["a 1"])
    }
  }

  @Test func `Secrets are sealed under the first key of a file that has a new one`() async throws {
    try await WebhookBench.with { bench in
      try await bench.add("*")
      let webhooks = { try await bench.deliveries.webhooks(at: bench.clock.now()) }
      let (before, id) = try #require(try await webhooks().first.map { ($0.sealedSecret, $0.id.text) })
      try await bench.upkeep()
      #expect(try await webhooks().first?.sealedSecret == before)
      let rotated = try KeyRing.rotate(jwkSet: Array(bench.keySet.utf8), kid: "k2")
      let secrets = WebhookSecrets(ring: try KeyRing(jwkSet: Array(rotated.utf8)))
      let parts = WebhookParts(
        rules: bench.parts.rules, secrets: secrets, metrics: bench.parts.metrics, clock: bench.clock,
        logger: bench.parts.logger, wakes: Wakes())
      _ = try await Upkeep(store: bench.context.store, parts: parts).round(at: bench.clock.now())
      let after = try #require(try await webhooks().first?.sealedSecret)
      #expect(after != before && secrets.sealAnew(after, of: id) == nil)
      #expect(secrets.open(after, of: id) == bench.parts.secrets.open(before, of: id))
      // The old file cannot open it.
      #expect(bench.parts.secrets.open(after, of: id) == nil)
    }
  }

  @Test func `A failed event holds up its subject and no other`() async throws {
    try await WebhookBench.with { bench in
      let id = try await bench.add("*")
      try await bench.verify("a", 0..<2)
      try await bench.settle(try await bench.claim(), .refused(status: 503))
      try await bench.verify("b", 0..<1)
      #expect(try await bench.drain() == ["b 0"])
      #expect(try await bench.show(id)?.failingSince == nil)
      #expect(try await bench.show(id)?.lastFailure == nil)
      bench.clock.advance(by: .seconds(5))
      #expect(try await bench.drain() == ["a 0", "a 1"])
    }
  }

  @Test func `A receiver that is down for an hour misses nothing, and gets each subject in order`() async throws {
    try await WebhookBench.with { bench in
      let id = try await bench.add("*")
      for minute in 0..<60 {
        for subject in ["a", "b", "c"] { try await bench.verify(subject, minute..<minute + 1) }
        try await bench.settle(try await bench.claim(), .unreachable("down"))
        bench.clock.advance(by: .seconds(60))
      }
      #expect(try await bench.show(id)?.waiting == 180)
      // The longest pause between two attempts.
      bench.clock.advance(by: .seconds(3_600))
      let delivered = try await bench.drain()
      for subject in ["a", "b", "c"] {
        #expect(delivered.filter { $0.hasPrefix(subject) } == (0..<60).map { "\(subject) \($0)" })
      }
    }
  }

  @Test func `410 switches a webhook off, and enable takes what waits up again`() async throws {
    try await WebhookBench.with { bench in
      let (id, other) = (try await bench.add("*"), try await bench.add("*"))
      try await bench.verify("a", 0..<2)
      let attempts = try await bench.claim()
      try await bench.settle(attempts.filter { $0.webhook.id.text == id }, .gone)
      try await bench.settle(attempts.filter { $0.webhook.id.text != id }, .delivered)
      #expect(try await bench.show(id)?.state == .gone)
      #expect(try await bench.show(other)?.state == .enabled)
      // Nothing is queued for it meanwhile.
      try await bench.verify("a", 2..<3)
      #expect(try await bench.drain() == ["a 1", "a 2"])
      #expect(try await bench.listed(EnableWebhook(id: id)).map(\.state) == [.enabled])
      #expect(try await bench.drain() == ["a 0", "a 1"])
    }
  }

  @Test func `Days of nothing but failures switch a webhook off, and one success does not let it come to that`()
    async throws
  {
    try await WebhookBench.with { bench in
      let (down, moody) = (try await bench.add("*"), try await bench.add("*"))
      for day in 0..<6 {
        try await bench.verify("a\(day)", 0..<1)
        let attempts = try await bench.claim()
        try await bench.settle(attempts.filter { $0.webhook.id.text == down }, .unreachable("down"))
        try await bench.settle(attempts.filter { $0.webhook.id.text == moody }, day == 3 ? .delivered : .forbidden)
        bench.clock.advance(by: .seconds(86_400))
      }
      #expect(try await bench.show(down)?.state == .failing)
      #expect(try await bench.show(down)?.lastFailure == "no answer: down")
      #expect(try await bench.show(moody)?.state == .enabled)
      try await WebhookFlow(parts: bench.parts).measure(bench.context.store)
      #expect(bench.metric(#"countersign_webhook_off{webhook="\#(down)"}"#) == 1)
      #expect(bench.metric(#"countersign_webhook_off{webhook="\#(moody)"}"#) == 0)
      #expect(try await bench.listed(EnableWebhook(id: down)).map(\.state) == [.enabled])
      _ = try await bench.listed(RemoveWebhook(id: moody))
      try await bench.upkeep()
      try await WebhookFlow(parts: bench.parts).measure(bench.context.store)
      for gauge in ["off", "failing_seconds", "waiting"] {
        #expect(bench.metric(#"countersign_webhook_\#(gauge){webhook="\#(moody)"}"#) == 0)
      }
    }
  }

  @Test func `Failures are forgotten when all that failed was dropped`() async throws {
    try await WebhookBench.with { bench in
      let id = try await bench.add("*")
      try await bench.verify("a", 0..<1)
      try await bench.settle(try await bench.claim(), .refused(status: 500))
      try await bench.upkeep()
      #expect(try await bench.show(id)?.lastFailure == "the answer was 500")
      bench.clock.advance(by: QueuedEvent.lifetime)
      try await bench.upkeep()
      try await bench.upkeep()
      #expect(try await bench.show(id)?.failingSince == nil)
      bench.clock.advance(by: Webhook.switchOffAfter)
      try await bench.verify("a", 1..<2)
      try await bench.settle(try await bench.claim(), .refused(status: 500))
      #expect(try await bench.show(id)?.state == .enabled)
    }
  }

  @Test func `What was not tried is tried again, and is no failure`() async throws {
    try await WebhookBench.with { bench in
      let id = try await bench.add("*")
      try await bench.verify("a", 0..<1)
      try await bench.settle(try await bench.claim(), .skipped)
      #expect(try await bench.show(id)?.failingSince == nil)
      bench.clock.advance(by: .seconds(1))
      #expect(try await bench.drain() == ["a 0"])
    }
  }

  @Test func `Events without a subject do not wait for each other, and sets of keys do`() async throws {
    try await WebhookBench.with { bench in
      try await bench.add("*")
      for (type, count) in [("app.verified", 3), ("keys.published", 1)] {
        for _ in 0..<3 { await bench.deliver(reports: [try bench.event(type, #""app":"a","project":"p""#)]) }
        let attempts = try await bench.claim()
        #expect(attempts.count == count, "\(type)")
        try await bench.settle(attempts, .delivered)
        _ = try await bench.drain()
      }
    }
  }

  @Test func `An event that an operator publishes again keeps its ID`() async throws {
    try await WebhookBench.with { bench in
      try await bench.add("*")
      var again = try bench.event("verification.sent", #""verificationID":"v""#, id: "m", user: "operator")
      again.message.headers[MessageHeader.sender] = .string(Topology.Users.coordinator)
      await bench.deliver(reports: [try bench.event("verification.sent", #""verificationID":"v""#, id: "m"), again])
      #expect(try await bench.drain().count == 1)
    }
  }

  @Test func `An event that fails for three days is dropped and counted, and the next one follows`() async throws {
    try await WebhookBench.with { bench in
      let id = try await bench.add("*")
      try await bench.verify("a", 0..<1)
      try await bench.settle(try await bench.claim(), .refused(status: 503))
      bench.clock.advance(by: .seconds(86_400))
      try await bench.verify("a", 1..<2)
      bench.clock.advance(by: .seconds(2 * 86_400))
      try await bench.upkeep()
      #expect(bench.metric(#"countersign_webhook_dropped_total{webhook="\#(id)",reason="age"}"#) == 1)
      #expect(try await bench.show(id)?.waiting == 1)
      #expect(try await bench.drain() == ["a 1"])
    }
  }

  @Test func `Beyond the bound the oldest make room, one that is under way included`() async throws {
    try await WebhookBench.with { bench in
      let (id, other) = (try await bench.add("*"), try await bench.add("*"))
      try await bench.verify("a", 0..<3)
      let underWay = try await bench.claim()
      bench.clock.advance(by: .seconds(1))
      try await bench.verify("b", 0..<3)
      try await bench.settle(underWay.filter { $0.webhook.id.text == other }, .delivered)
      try await bench.upkeep(maxEvents: 4)
      #expect(bench.metric(#"countersign_webhook_dropped_total{webhook="\#(id)",reason="full"}"#) == 2)
      #expect(bench.metric(#"countersign_webhook_dropped_total{webhook="\#(other)",reason="full"}"#) == 1)
      #expect(try await bench.show(id)?.waiting == 4)
      try await bench.settle(underWay.filter { $0.webhook.id.text == id }, .delivered)
      let left = try await bench.drain()
      #expect(left.filter { $0 == "a 2" }.count == 2 && left.filter { $0 == "b 0" }.count == 2)
      #expect(!left.contains("a 0") && !left.contains("a 1"))
      #expect(try await bench.show(id)?.waiting == 0)
    }
  }

  @Test func `A replay repeats what was delivered since a time, once, behind what waits`() async throws {
    try await WebhookBench.with { bench in
      let id = try await bench.add("*")
      try await bench.verify("a", 0..<1)
      #expect(try await bench.drain() == ["a 0"])
      bench.clock.advance(by: .seconds(3_600))
      let since = bench.clock.now()
      try await bench.verify("a", 1..<3)
      #expect(try await bench.drain() == ["a 1", "a 2"])
      bench.clock.advance(by: .seconds(1))
      #expect(try await bench.listed(ReplayWebhook(id: id, since: since)).map(\.replayingSince) == [since])
      try await bench.verify("a", 3..<4)
      try await bench.upkeep()
      #expect(try await bench.show(id)?.replayingSince == nil)
      #expect(try await bench.drain() == ["a 3", "a 1", "a 2"])
      try await bench.upkeep()
      #expect(try await bench.drain().isEmpty)
      let error = try await bench.error(ReplayWebhook(id: id, since: bench.clock.now() - .seconds(4 * 86_400)))
      #expect(error.code == .invalidArgument)
    }
  }

  @Test func `Beyond the bound the oldest deliveries go, and a replay waits for room`() async throws {
    try await WebhookBench.with { bench in
      let id = try await bench.add("*")
      let since = bench.clock.now()
      for number in 0..<3 {
        try await bench.verify("a", number..<number + 1)
        #expect(try await bench.drain() == ["a \(number)"])
        bench.clock.advance(by: .seconds(1))
      }
      try await bench.upkeep(maxEvents: 2)
      _ = try await bench.listed(ReplayWebhook(id: id, since: since))
      try await bench.upkeep(maxEvents: 2)
      #expect(try await bench.drain().isEmpty)
      try await bench.upkeep()
      #expect(try await bench.drain() == ["a 1", "a 2"])
    }
  }

  @Test func `Delivered events go after three days`() async throws {
    try await WebhookBench.with { bench in
      let id = try await bench.add("*")
      let since = bench.clock.now()
      try await bench.verify("a", 0..<1)
      #expect(try await bench.drain() == ["a 0"])
      bench.clock.advance(by: QueuedEvent.lifetime)
      await bench.maintenance.tidy()
      _ = try await bench.listed(ReplayWebhook(id: id, since: since))
      try await bench.upkeep()
      #expect(try await bench.drain().isEmpty)
    }
  }

  @Test func `A removed webhook gets nothing more, and leaves nothing that waits`() async throws {
    try await WebhookBench.with { bench in
      let (id, other) = (try await bench.add("*"), try await bench.add("*"))
      try await bench.verify("a", 0..<300)
      let underWay = try await bench.claim()
      _ = try await bench.listed(RemoveWebhook(id: id))
      #expect(try await bench.error(EnableWebhook(id: id)).code == .invalidArgument)
      try await bench.settle(underWay, .delivered)
      try await bench.upkeep()
      #expect(try await bench.listed(ListWebhooks()).map(\.id) == [other])
      #expect(try await bench.drain().count == 299)
      let left = try await bench.context.store.read(StoreKeys(), at: bench.clock.now()) { set throws(StoreError) in
        try Webhook.all(in: set).map(\.id.text)
      }
      #expect(left == [other])
    }
  }
}
