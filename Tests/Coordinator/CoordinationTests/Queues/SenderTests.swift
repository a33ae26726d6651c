import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination

@Suite("Senders: commands by sender and ID, results by user and key")
struct SenderTests {
  private func reply(_ bench: Bench, _ message: Message) async throws -> Message {
    _ = bench.sink.takePublished()
    await bench.deliver([message])
    return try #require(bench.replies().first)
  }

  private func check(_ id: String, _ code: String) -> CheckVerification {
    CheckVerification(verificationID: id, code: SecretField(Secret(code)))
  }

  @Test("Another code under the ID of a check is refused, the same one has the same answer")
  func anotherCodeUnderTheIDOfACheckIsRefusedTheSameOneHasTheSame() async throws {
    try await Bench.with { bench in
      let id = try await bench.start().verificationID
      let code = try #require(try bench.jobs().first).code
      let wrong = Bench.wrong(code)
      func ask(_ code: String) async throws -> Message {
        try await reply(bench, try bench.commandMessage(check(id, code), id: "m", user: "service"))
      }
      let first = try await ask(wrong)
      #expect(try ErrorReply(json: first.body).error.code == .invalidCode)
      #expect(try await ask(wrong).body == first.body)
      let error = try ErrorReply(json: try await ask(code).body).error
      #expect(error.code == .invalidArgument && error.field == "message_id" && error.reason == "MESSAGE_ID_REUSED")
      #expect(try await !bench.dump("inbox").contains(wrong), "the code is in no table")
    }
  }

  @Test("The IDs of two senders are two commands, also after a retry that names the sender")
  func theIDsOfTwoSendersAreTwoCommandsAlsoAfterARetryThatNames() async throws {
    try await Bench.with { bench in
      let first = try bench.commandMessage(
        StartVerification(phoneNumber: Bench.number, app: Bench.app), id: "1", user: "service")
      let second = try bench.commandMessage(
        StartVerification(phoneNumber: "+14155550124", app: Bench.app), id: "1", user: "billing")
      let one = try await reply(bench, first)
      let other = try await reply(bench, second)
      #expect(one.type == "verification.started.v1" && other.type == "verification.started.v1")
      #expect(one.body != other.body)
      let again = first.publishedAgain(by: "operator", sender: "service")
      #expect(try await reply(bench, again).body == one.body)
      #expect(try await bench.count("inbox") == 2)
      // The service's ID would be used already.
      var unbelieved = try bench.commandMessage(
        StartVerification(phoneNumber: "+14155550125", app: Bench.app), id: "1", user: "service"
      ).publishedAgain(by: "operator", sender: "service")
      unbelieved.userID = "somebody"
      #expect(try await reply(bench, unbelieved).type == "verification.started.v1")
      #expect(try await bench.count("inbox") == 3, "nobody else's word about the sender is believed")
    }
  }

  @Test("A reply address that is not the sender's: buried, not answered, not carried out")
  func aReplyAddressThatIsNotTheSendersBuriedNotAnsweredNotCarried() async throws {
    try await Bench.with { bench in
      let start = StartVerification(phoneNumber: Bench.number, app: Bench.app)
      for (queue, user) in [
        ("coordinator.results", "service"), ("sms.dispatch", "service"), ("countersign.reply.other.1", "service"),
        ("accounts.replies", "service"), ("countersign.reply.service.1", nil),
      ] {
        _ = bench.sink.takePublished()
        await bench.deliver([try bench.commandMessage(start, replyTo: queue, user: user)])
        let published = bench.sink.published
        #expect(published.map(\.exchange) == [Topology.Exchanges.dead], "\(queue)")
        #expect(published.first?.message.headers["x-dead-reason"] == "INVALID_REPLY_TO")
        #expect(published.first?.message.userID == "coordinator")
        #expect(published.first?.message.headers["x-sender"] == .string(user ?? "unnamed"))
      }
      #expect(try await bench.count("verification") == 0)
      _ = bench.sink.takePublished()
      await bench.deliver([try bench.commandMessage(start, replyTo: "countersign.reply.service.1", user: "service")])
      #expect(bench.sink.published.contains { $0.routingKey == "countersign.reply.service.1" })
      #expect(bench.sink.published.allSatisfy { $0.message.userID == "coordinator" })
    }
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

  @Test("A result from another user or under another key is forged: a dead letter that is counted")
  func aResultFromAnotherUserOrUnderAnotherKeyIsForgedADeadLetter() async throws {
    let changes: [(inout Delivery) -> Void] = [
      { $0.message.userID = "mail-worker" }, { $0.message.userID = nil }, { $0.message.userID = "service" },
      { $0.message.userID = "coordinator" }, { $0.routingKey = "mail.relay.refused" },
      { $0.routingKey = "sms.dispatch.accepted" }, { $0.routingKey = "sms.dispatch.x.refused" },
      { ($0.exchange, $0.routingKey) = ("", "coordinator.results") },
      { ($0.exchange, $0.routingKey) = ("", "sms.dispatch.refused") },
    ]
    try await Bench.with { bench in
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
  }

  @Test("The coordinator passes over the result of an SMS that could wait, which an old binding may bring")
  func theCoordinatorPassesOverTheResultOfAnSMSThatCouldWait() async throws {
    try await Bench.with { bench in
      let (_, id) = try await delivery(bench) { $0.routingKey = "sms.bulk.refused" }
      #expect(bench.sink.published.isEmpty)
      #expect(try await bench.status(id).state == .sending)
      #expect(bench.engineMetrics.foreignResults.value == 1)
      #expect(bench.engineMetrics.forgedResults.value == 0)
      _ = bench.sink.takePublished()
      var report = Bench.reported(try bench.report(AppleRevokeJob.self, "somebody-elses", .accepted))
      report.routingKey = "sms.bulk.accepted"
      await bench.deliverResults([report])
      #expect(bench.sink.published.first?.message.headers["x-dead-reason"] == "FORGED_RESULT")
    }
  }

  @Test("A result of somebody else's job changes nothing, and is counted and acknowledged")
  func aResultOfSomebodyElsesJobChangesNothingAndIsCounted() async throws {
    try await Bench.with { bench in
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
  }

  @Test("A dead result that an operator redrives is taken, when its worker said whose job it was")
  func aDeadResultThatAnOperatorRedrivesIsTakenWhenItsWorkerSaid() async throws {
    try await Bench.with { bench in
      let (_, id) = try await delivery(bench) {
        $0.message = $0.message.publishedAgain(by: "operator", sender: "coordinator")
        ($0.exchange, $0.routingKey) = ("", "coordinator.results")
      }
      #expect(try await bench.status(id).state == .failed)
    }
  }

  @Test(
    "Users of workers have the names of the topology, and no others", arguments: ["sms-eu", "push-worker", "service"])
  func usersOfWorkersHaveTheNamesOfTheTopologyAndNoOthers(user: String) async throws {
    try await Bench.with { bench in
      let (_, id) = try await delivery(bench) { $0.message.userID = user }
      #expect(bench.sink.published.first?.message.headers["x-dead-reason"] == "FORGED_RESULT")
      #expect(try await bench.status(id).state == .sending)
    }
  }

  @Test("A known outcome of an SMS replaces unknown and never the reverse")
  func aKnownOutcomeOfAnSMSReplacesUnknownAndNeverTheReverse() async throws {
    try await Bench.with { bench in
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
}
