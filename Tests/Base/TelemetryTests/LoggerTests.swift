import CountersignTelemetry
import FoundationEssentials
import Synchronization
import TestSupport
import Testing

@Suite struct LoggerTests {
  let sink = MemorySink()

  private func logger(_ level: LogLevel = .info) -> Logger {
    Logger(label: "worker", level: level, sink: sink, clock: ManualClock(UnixTime(seconds: 1_782_907_200)))
  }

  @Test func `A text line has time level message and values`() {
    logger().info("job settled", [.jobID: "a 1", .attempt: 3, "took": .milliseconds(1500) as Duration, "late": false])
    #expect(
      sink.lines() == [
        "2026-07-01T12:00:00.000Z INFO  worker: job settled job.id=\"a 1\" attempt=3 took=1.5 late=false"
      ])
  }

  @Test func `A JSON line has time level message and values`() throws {
    let missing: String? = nil
    logger().warning("odd", ["text": "a\"\\\n\u{1}\u{2028}é", "missing": missing, "infinite": Double.infinity])
    let line = try #require(sink.lines(.json).first)
    struct Line: Decodable, Equatable {
      var time, level, label, message, text, infinite: String
      var missing: String?
    }
    #expect(
      try JSONDecoder().decode(Line.self, from: Data(line.utf8))
        == Line(
          time: "2026-07-01T12:00:00.000Z", level: "warning", label: "worker", message: "odd",
          text: "a\"\\\n\u{1}\u{2028}é", infinite: "inf", missing: nil))
    #expect(!line.contains("missing"))
  }

  @Test func `An event is one line`() {
    logger().info("x", ["key": "a\nb\r\u{85}\u{2028}c"])
    for format in LogFormat.allCases {
      #expect(sink.lines(format)[0].unicodeScalars.allSatisfy { !$0.properties.isWhitespace || $0 == " " })
    }
  }

  @Test func `Long values are cut`() {
    logger().info("x", ["key": String(repeating: "é", count: 5000)])
    #expect(sink.lines()[0].utf8.count < LogFormat.maxValueBytes + 100)
    #expect(sink.lines()[0].hasSuffix("…"))
  }

  @Test func `Lower levels are dropped without evaluating the metadata`() {
    let evaluated = Mutex(false)
    func metadata() -> LogMetadata {
      evaluated.withLock { $0 = true }
      return [:]
    }
    logger().debug("x", metadata())
    #expect(sink.events.isEmpty)
    #expect(!evaluated.withLock { $0 })
    logger(.debug).debug("x", metadata())
    #expect(sink.events.count == 1)
  }

  @Test func `Bound values come first`() {
    logger().with([.lane: "twilio"]).child("ledger").error("x", [.attempt: 1])
    #expect(sink.lines()[0].hasSuffix("ERROR worker.ledger: x lane=twilio attempt=1"))
  }
}
