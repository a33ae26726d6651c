import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct ActsTests {
  private static let `operator` = Topology.Users.operator

  private func acts(_ bench: Bench) async throws -> [OperatorAct] {
    try OperatorActsListed(json: try await bench.ask(ListOperatorActs(limit: 200), user: Self.operator).body).acts
  }

  private func note(
    _ bench: Bench, _ act: String, _ subject: String? = nil, id: String? = nil
  ) async throws -> Message {
    try await bench.ask(NoteAct(act: act, subject: subject), id: id ?? MessageID.make(), user: Self.operator)
  }

  @Test func `An act that is announced is on record, once, the latest first, page by page`() async throws {
    let bench = try await Bench()
    for index in 0..<5 {
      #expect(try await note(bench, "dead.redrive", "queue-\(index)", id: "m\(index)").type == "operator.noted.v1")
      #expect(try await note(bench, "dead.redrive", "queue-\(index)", id: "m\(index)").type == "operator.noted.v1")
      bench.clock.advance(by: .seconds(1))
    }
    let acts = try await acts(bench)
    #expect(acts.map(\.subject) == (0..<5).reversed().map { "queue-\($0)" })
    #expect(acts.allSatisfy { $0.by == Self.operator && $0.act == "dead.redrive" })
    var (paged, after) = ([OperatorAct](), String?.none)
    repeat {
      var command = ListOperatorActs(limit: 2)
      command.after = after
      let page = try OperatorActsListed(json: try await bench.ask(command, user: Self.operator).body)
      paged += page.acts
      after = page.next
    } while after != nil
    #expect(paged == acts)
  }

  @Test func `A lifted block is on record, and one that is not there is not`() async throws {
    let bench = try await Bench(Bench.rules { $0.conversion.minimumPerPrefix = 1 })
    _ = try await bench.ask(LiftConversionBlock(key: "+1415555"), user: Self.operator)
    #expect(try await acts(bench) == [])
    let id = try await bench.start().verificationID
    await bench.deliverResults([try bench.result("\(id).sms.1", .accepted)])
    bench.clock.advance(by: .seconds(300))
    await bench.maintenance.tidy()
    let lifted = try await bench.ask(LiftConversionBlock(key: "+1415555"), user: Self.operator)
    #expect(lifted.type == "conversion.lifted.v1")
    #expect(try await acts(bench).map { [$0.act, $0.subject] } == [["conversion.lift", "+1415555"]])
  }

  @Test func `A forgotten number is on record without the number, unless accounts forgets it`() async throws {
    let bench = try await Bench()
    _ = try await bench.ask(ForgetNumber(phoneNumber: Bench.number), user: Self.operator)
    var narrow = ForgetNumber(phoneNumber: Bench.number)
    (narrow.startedBefore, narrow.apps, narrow.keepsLimits) = (bench.clock.now(), [Bench.app], true)
    _ = try await bench.ask(narrow, user: Topology.Users.accounts)
    let acts = try await acts(bench)
    #expect(acts.map(\.act) == ["number.forget"] && acts[0].subject == nil)
    #expect(try await !bench.dump("act").contains(Bench.number))
  }

  @Test func `An act is noted and sorted under our time, whatever its sender says`() async throws {
    let bench = try await Bench()
    let first = bench.clock.now()
    _ = try await note(bench, "first")
    bench.clock.advance(by: .seconds(60))
    let second = bench.clock.now()
    for (act, sentAt) in [("old", first - .seconds(3600)), ("new", second + .seconds(3600))] {
      let message = try bench.message(NoteAct(act: act), user: Self.operator, sentAt: sentAt)
      await bench.deliver([message])
    }
    let acts = try await acts(bench)
    #expect(acts.map(\.act).last == "first" && Set(acts.map(\.act)) == ["old", "new", "first"])
    #expect(acts.map(\.actedAt) == [second, second, first])
  }

  @Test func `Only operators note and read, and what they note is short`() async throws {
    let bench = try await Bench()
    for user in ["service", "accounts", "gateway"] {
      #expect(try await bench.ask(NoteAct(act: "dead.drop"), user: user).type == "error.v1")
      #expect(try await bench.ask(ListOperatorActs(limit: 1), user: user).type == "error.v1")
    }
    for (act, subject) in [
      ("", nil), (String(repeating: "a", count: 65), nil), ("dead drop", nil), ("a", ""), ("a", "line\nline"),
      ("a", String(repeating: "b", count: 257)),
    ] as [(String, String?)] {
      #expect(try await note(bench, act, subject).type == "error.v1", "\(act)")
    }
    for limit in [0, 201] {
      #expect(try await bench.ask(ListOperatorActs(limit: limit), user: Self.operator).type == "error.v1")
    }
    #expect(try await acts(bench) == [])
  }

  @Test func `A page of the longest acts fits a message, and rows end after 400 days`() async throws {
    let bench = try await Bench()
    for _ in 0..<130 { _ = try await note(bench, "a", String(repeating: "\"", count: 256)) }
    #expect(try await acts(bench).count < 130)
    bench.clock.advance(by: ActRecord.retention + .seconds(1))
    await bench.maintenance.tidy()
    #expect(try await bench.count("act") == 0)
  }
}
