import CountersignAMQP
import CountersignMessages
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct SenderTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  @Test func `Another code under the ID of a check is refused, the same one has the same answer`() async throws {
    let (id, code) = try await bench.begin()
    let wrong = Bench.wrong(code)
    func ask(_ code: String) async throws -> Message {
      try await bench.ask(CheckVerification(id, code), id: "m", user: "service")
    }
    let first = try await ask(wrong)
    #expect(try ErrorReply(json: first.body).error.code == .invalidCode)
    #expect(try await ask(wrong).body == first.body)
    let error = try ErrorReply(json: try await ask(code).body).error
    #expect(error.code == .invalidArgument && error.field == "message_id" && error.reason == "MESSAGE_ID_REUSED")
    #expect(try await !bench.dump("inbox").contains(wrong), "the code is in no table")
    #expect(try await bench.status(id).timeline.count { $0.event == "check.wrong" } == 1)
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
    let (id, code) = try await bench.begin()
    func ask(_ message: String) async throws -> Message {
      try await bench.ask(CheckVerification(id, code), id: message, user: Topology.Users.accounts)
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

  @Test(arguments: ["sms-eu", "push-worker", "service"])
  func `Users of workers have the names of the topology, and no others`(user: String) async throws {
    let id = try await bench.start().verificationID
    var delivery = Bench.reported(try bench.result("\(id).sms.1", .refused))
    delivery.message.userID = user
    await bench.report(delivery)
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
