import CountersignTelemetry
import Simulation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ControlTests {
  @Test(arguments: ["%2B14155550123", "+14155550123", "14155550123"])
  func `Number is found however it is written`(_ number: String) async throws {
    try await Bench.run { bench in
      _ = try await bench.twilio()
      _ = try await bench.twilio(["To": "+14155550199"])
      #expect(try await bench.shown("?to=\(number)").map(\.to) == ["+14155550123"])
    }
  }

  @Test func `Messages come oldest first and the oldest are forgotten`() async throws {
    try await Bench.run(maxMessages: 3) { bench in
      for number in 1...5 { _ = try await bench.twilio(["To": "+1415555010\(number % 2)", "Body": String(number)]) }
      #expect(try await bench.shown().map(\.body) == ["3", "4", "5"])
      #expect(try await bench.shown("?limit=2").map(\.body) == ["4", "5"])
      #expect(try await bench.shown("?to=%2B14155550101").map(\.body) == ["3", "5"])
      #expect(try await bench.shown("?to=%2B14155550100").map(\.body) == ["4"])
      let summary = try await bench.summary()
      #expect(summary.received == 5)
      #expect(summary.held == 3)
      #expect(summary.distinctRecipients == 2)
    }
  }

  @Test func `Same text to the same number is a duplicate`() async throws {
    try await Bench.run { bench in
      for body in ["a", "b", "a"] { _ = try await bench.twilio(["Body": body]) }
      _ = try await bench.twilio(["Body": "a", "To": "+14155550199"])
      let summary = try await bench.summary()
      #expect(summary.duplicates == 1)
      #expect(summary.byProvider == ["twilio": 4, "webhook": 0, "vonage": 0, "messagebird": 0, "aws": 0, "smpp": 0])
    }
  }

  @Test func `Messages are cleared`() async throws {
    try await Bench.run { bench in
      _ = try await bench.twilio()
      _ = try await bench.control("DELETE", "/sms")
      #expect(try await bench.shown().isEmpty)
      #expect(try await bench.summary().received == 0)
    }
  }

  private struct Mail: Decodable {
    let to, body, receivedAt: String
  }

  private func tell(_ bench: Bench, _ to: String, _ body: String) async throws -> Answer {
    try await bench.control("POST", "/mails", #"{"to":"\#(to)","body":"\#(body)"}"#)
  }

  private func mails(_ bench: Bench, _ query: String = "") async throws -> [Mail] {
    try await bench.control("GET", "/mails\(query)").decoded()
  }

  @Test func `Mails that the mail server tells of come oldest first and the oldest are forgotten`() async throws {
    try await Bench.run(maxMessages: 3) { bench in
      #expect(try await mails(bench).isEmpty)
      for number in 1...4 {
        #expect(try await tell(bench, "\(number % 2)@example.org", #"Open \#(number).\n\"now\""#).status == 201)
        bench.clock.advance(by: .seconds(1))
      }
      let all = try await mails(bench)
      #expect(all.map(\.body) == (2...4).map { "Open \($0).\n\"now\"" })
      #expect(all.map(\.receivedAt) == all.map(\.receivedAt).sorted() && Set(all.map(\.receivedAt)).count == 3)
      #expect(try await mails(bench, "?to=0@example.org").map(\.to) == ["0@example.org", "0@example.org"])
      #expect(try await mails(bench, "?to=2@example.org").isEmpty)
      #expect(try await mails(bench, "?limit=1").map(\.to) == ["0@example.org"])
      #expect(try await bench.control("DELETE", "/mails").status == 200)
      #expect(try await mails(bench).isEmpty)
    }
  }

  @Test(
    arguments: [
      "", "[]", #"{"to":"a@example.org"}"#, #"{"body":"b"}"#, #"{"to":"","body":"b"}"#,
      #"{"to":"a@example.org","body":1}"#, #"{"to":"a@example.org","body":"b","from":"c@example.org"}"#,
      #"{"to":"\#(String(repeating: "a", count: 321))","body":"b"}"#,
      #"{"to":"a@example.org","body":"\#(String(repeating: "a", count: 65_537))"}"#,
    ])
  func `A mail that is told of wrongly is refused`(json: String) async throws {
    try await Bench.run { bench in
      let answer = try await bench.control("POST", "/mails", json)
      #expect(answer.status == (json.utf8.count > 65_536 ? 413 : 400) && !answer.text.isEmpty)
      #expect(try await mails(bench).isEmpty)
    }
  }

  @Test func `Pages that are not there say so`() async throws {
    try await Bench.run { bench in
      for (method, path, status) in [
        ("GET", "/nothing", 404), ("PUT", "/sms", 405), ("GET", "/sms?limit=0", 400), ("GET", "", 200),
      ] {
        let answer = try await bench.control(method, path)
        #expect(answer.status == status)
      }
      #expect(try await bench.control("GET", "").text == SimulatorGuide.text)
    }
  }

  @Test func `Wrong secret is said`() {
    var settings = SimulatorSettings()
    settings.webhookSecret = .init("whsec_short")
    let error = #expect(throws: SimulationError.self) { try Simulator(settings) }
    #expect(error?.code == .invalidSecret)
  }

  @Test func `Port in use is said`() async throws {
    try await Bench.run { bench in
      var settings = SimulatorSettings()
      settings.port = bench.simulator.port
      let error = #expect(throws: SimulationError.self) { try Simulator(settings) }
      #expect(error?.code == .cannotListen)
      #expect(error?.description.contains(String(settings.port)) == true)
    }
  }
}
