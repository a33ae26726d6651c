import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct CommandQueueAgeTests {
  let bench: FlowBench

  init() async throws { bench = try await FlowBench() }

  @Test func `A timestamp means the end of its second; none, or one of the future, is no age`() {
    #expect(CommandAge.least(of: nil, at: start) == nil)
    #expect(CommandAge.least(of: start + .milliseconds(1), at: start) == nil)
    #expect(CommandAge.least(of: start, at: start) == .zero)
    #expect(CommandAge.least(of: start, at: start + .milliseconds(999)) == .zero)
    #expect(CommandAge.least(of: start, at: start + .milliseconds(30_999)) == .seconds(30))
    #expect(CommandAge.least(of: UnixTime(seconds: 0), at: start) == .milliseconds(1_782_907_199_001))
    #expect(CommandAge.least(of: UnixTime(milliseconds: .min), at: UnixTime(milliseconds: .max)) != nil)
  }

  @Test func `A requester has gone after ten seconds`() {
    #expect(!CommandAge.isLate(nil, at: start))
    #expect(!CommandAge.isLate(start, at: start + .milliseconds(10_999)))
    #expect(CommandAge.isLate(start, at: start + .milliseconds(11_000)))
  }

  @Test func `Commands that waited through an outage are answered, and change nothing`() async throws {
    let sentAt = bench.clock.now()
    bench.clock.advance(by: .seconds(1200))
    let messages = try ["a", "b", "c"].map {
      try bench.message(PutNote(text: $0, sends: [.job]), id: $0, user: "shop", sentAt: sentAt)
    }
    #expect(await bench.deliver(batches: [messages]).ackedCount == 3)
    #expect(bench.sink.published.count == 3)
    for reply in bench.replies {
      let error = try ErrorReply(json: reply.body).error
      #expect(error.code == .internalError && error.reason == "COMMAND_TOO_OLD" && error.field == "timestamp")
      #expect(error.message.contains("was sent 1199 s ago"))
      #expect(error.retryAfter == nil)
    }
    for text in ["a", "b", "c"] {
      #expect(try await bench.stored(text) == nil)
      #expect(try await bench.entry(text, of: "shop") == nil)
    }
    #expect(bench.metric(#"countersign_commands_total{command="note.put",code="COMMAND_TOO_OLD"}"#) == 3)
    #expect(bench.metric(#"countersign_command_skew_seconds{sender="shop"}"#) == 1199.5)
  }

  @Test(arguments: [(30_999, true), (31_000, false)])
  func `The limit counts from the end of the timestamp's second`(milliseconds: Int, isCarriedOut: Bool) async throws {
    let sentAt = bench.clock.now()
    bench.clock.advance(by: .milliseconds(milliseconds))
    let reply = try await bench.ask(PutNote(text: "a"), sentAt: sentAt)
    #expect((reply.type == "note.kept.v1") == isCarriedOut)
  }

  @Test func `A command that waited for the store has aged, and its skew was measured before`() async throws {
    bench.store.fail(.full, .transact, times: 1) { [clock = bench.clock] in clock.advance(by: .seconds(60)) }
    let sentAt = bench.clock.now()
    let reply = try await bench.ask(PutNote(text: "a"), user: "shop", sentAt: sentAt)
    #expect(try ErrorReply(json: reply.body).error.reason == "COMMAND_TOO_OLD")
    #expect(try await bench.stored("a") == nil)
    #expect(bench.metric(#"countersign_command_skew_seconds{sender="shop"}"#) == -0.5)
  }

  @Test func `A command without a timestamp that waited for the store begins when it is stored`() async throws {
    bench.store.fail(.full, .transact, times: 1) { [clock = bench.clock] in clock.advance(by: .seconds(60)) }
    _ = try await bench.ask(PutNote(text: "a"))
    #expect(try await bench.stored("a")?.dueAt == start + .seconds(60) + NoteFlow.lifetime)
  }

  @Test func `A recorded answer goes first; what was refused is carried out under the same ID when it is sent anew`()
    async throws
  {
    let sentAt = bench.clock.now()
    let first = try await bench.ask(PutNote(text: "a"), id: "m", sentAt: sentAt)
    bench.clock.advance(by: .seconds(600))
    #expect(try await bench.ask(PutNote(text: "a"), id: "m", sentAt: sentAt).body == first.body)
    #expect(try await bench.ask(PutNote(text: "b"), id: "n", sentAt: sentAt).type == "error.v1")
    #expect(try await bench.ask(PutNote(text: "b"), id: "n", sentAt: bench.clock.now()).type == "note.kept.v1")
  }

  @Test func `A command that is not refused late is carried out however old, and one of the future too`() async throws {
    let early = bench.clock.now() - .seconds(86_400)
    #expect(try await bench.ask(SignNote(text: "a"), user: "operator", sentAt: early).type == "note.kept.v1")
    #expect(try await bench.ask(LookAtNote(text: "a"), sentAt: early).type == "note.kept.v1")
    let late = bench.clock.now() + .seconds(86_400)
    #expect(try await bench.ask(PutNote(text: "b"), sentAt: late).type == "note.kept.v1")
  }

  @Test func `A command that waits came in time, also when it is delivered again late`() async throws {
    let message = try bench.message(PutNote(text: "wait"), id: "wait", sentAt: bench.clock.now())
    await bench.deliver(message)
    bench.clock.advance(by: .seconds(50))
    await bench.deliver(message)
    #expect(bench.replies.isEmpty)
  }

  @Test func `However many senders there are, few are told apart`() {
    let registry = MetricsRegistry()
    let skew = SenderSkew(registry)
    func note(_ sender: String?) {
      skew.note(Envelope(type: PutNote.type, messageID: "m", timestamp: start, appID: sender), at: start)
    }
    note(nil)
    for index in 0..<100 { note("app \(index)") }
    note(String(repeating: "x", count: 1000))
    let lines = registry.render().split(separator: "\n").filter { $0.hasPrefix("countersign_command_skew_seconds{") }
    #expect(lines.count == SenderSkew.maxSenders + 1)
    #expect(lines.contains { $0.contains(#"{sender="unnamed"} -0.5"#) })
    #expect(lines.contains { $0.contains(#"{sender="other"}"#) })
  }
}
