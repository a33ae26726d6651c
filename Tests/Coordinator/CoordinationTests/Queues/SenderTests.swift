import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct SenderTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private func reply(_ bench: Bench, _ message: Message) async throws -> Message {
    _ = bench.sink.takePublished()
    await bench.deliver([message])
    return try #require(bench.replies.first)
  }

  private func check(_ id: String, _ code: String) -> CheckVerification {
    CheckVerification(verificationID: id, code: SecretField(Secret(code)))
  }

  @Test func `Another code under the ID of a check is refused, the same one has the same answer`() async throws {
    let id = try await bench.start().verificationID
    let code = try #require(try bench.jobs().first).code
    let wrong = Bench.wrong(code)
    func ask(_ code: String) async throws -> Message {
      try await reply(bench, try bench.message(check(id, code), id: "m", user: "service"))
    }
    let first = try await ask(wrong)
    #expect(try ErrorReply(json: first.body).error.code == .invalidCode)
    #expect(try await ask(wrong).body == first.body)
    let error = try ErrorReply(json: try await ask(code).body).error
    #expect(error.code == .invalidArgument && error.field == "message_id" && error.reason == "MESSAGE_ID_REUSED")
    #expect(try await !bench.dump("inbox").contains(wrong), "the code is in no table")
  }

  @Test
  func `An approval is told again under its ID for as long as its session may live, however short the inbox is kept`()
    async throws
  {
    let rules = Bench.rules {
      $0.inboxRetention = .seconds(60)
      $0.policy.maximumLifetime = .seconds(3600)
    }
    let bench = try await Bench(rules)
    let id = try await bench.start().verificationID
    let code = try #require(try bench.jobs().first).code
    func ask(_ message: String) async throws -> Message {
      try await reply(bench, try bench.message(check(id, code), id: message, user: Topology.Users.accounts))
    }
    let approved = try await ask("hmac")
    #expect(approved.type == "verification.approved.v1")
    #expect(try VerificationApproved(json: approved.body).testNumber == false)
    // The last moment of the session, and the time for which accounts take its approval.
    bench.clock.advance(by: rules.policy.maximumLifetime + .seconds(600))
    await bench.maintenance.tidy()
    #expect(try await ask("hmac").body == approved.body)
    // Under another ID the code has been used.
    let error = try ErrorReply(json: try await ask("other").body).error
    #expect(error.code == .sessionExpired)
    bench.clock.advance(by: CheckOrder.longestUse)
    await bench.maintenance.tidy()
    #expect(try await ask("hmac").type == "error.v1")
  }

  // MARK: Results

  /// Deletes verifications and counts, so that the same number starts anew.
  private func empty(_ bench: Bench) async throws {
    for table in ["record", "unique", "group", "counter"] { try await bench.run("DELETE FROM store_\(table)") }
  }

  private func delivery(_ bench: Bench, _ change: (inout Delivery) -> Void) async throws -> (Delivery, id: String) {
    let id = try await bench.start().verificationID
    var delivery = Bench.reported(try bench.result("\(id).sms.1", .refused))
    change(&delivery)
    _ = bench.sink.takePublished()
    await bench.deliverResults([delivery])
    return (delivery, id)
  }

  @Test func `A result from another user or under another key is forged: a dead letter that is counted`() async throws {
    let changes: [(inout Delivery) -> Void] = [
      { $0.message.userID = "mail-worker" }, { $0.message.userID = nil }, { $0.message.userID = "service" },
      { $0.message.userID = "coordinator" }, { $0.routingKey = "mail.relay.refused" },
      { $0.routingKey = "sms.dispatch.accepted" }, { $0.routingKey = "sms.dispatch.x.refused" },
      { ($0.exchange, $0.routingKey) = ("", "coordinator.results") },
      { ($0.exchange, $0.routingKey) = ("", "sms.dispatch.refused") },
    ]
    for (number, change) in changes.enumerated() {
      let (_, id) = try await delivery(bench, change)
      let dead = bench.sink.published
      #expect(dead.map(\.exchange) == [Topology.Exchanges.dead], "\(number)")
      #expect(dead.first?.message.headers["x-dead-reason"] == "FORGED_RESULT", "\(number)")
      #expect(try await bench.status(id).state == .sending)
      #expect(bench.registry.render().contains("countersign_results_forged_total \(number + 1)"))
      try await empty(bench)
    }
  }

  @Test func `A result of somebody else's job changes nothing, and is counted and acknowledged`() async throws {
    for (number, sender) in ["service", "unnamed", "sms-worker"].enumerated() {
      let (_, id) = try await delivery(bench) { $0.message.headers["x-sender"] = .string(sender) }
      #expect(bench.sink.published.isEmpty)
      #expect(try await bench.status(id).state == .sending)
      #expect(bench.registry.render().contains("countersign_results_foreign_total \(number + 1)"))
      try await empty(bench)
    }
    let (_, id) = try await delivery(bench) { $0.message.headers["x-sender"] = nil }
    #expect(try await bench.status(id).state == .sending)
  }

  @Test(arguments: ["sms-eu", "push-worker", "service"])
  func `Users of workers have the names of the topology, and no others`(user: String) async throws {
    let (_, id) = try await delivery(bench) { $0.message.userID = user }
    #expect(bench.sink.published.first?.message.headers["x-dead-reason"] == "FORGED_RESULT")
    #expect(try await bench.status(id).state == .sending)
  }

  @Test func `A known outcome of an SMS replaces unknown and never the reverse`() async throws {
    let id = try await bench.start().verificationID
    await bench.deliverResults([try bench.result("\(id).sms.1", .unknown)])
    #expect(try await bench.status(id).state == .sending)
    await bench.deliverResults([try bench.result("\(id).sms.1", .expired)])
    #expect(try await bench.status(id).state == .sending)
    await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    #expect(try await bench.status(id).state == .sent)
    await bench.deliverResults([try bench.result("\(id).sms.1", .unknown), try bench.result("\(id).sms.1", .refused)])
    #expect(try await bench.status(id).state == .sent)
  }
}
