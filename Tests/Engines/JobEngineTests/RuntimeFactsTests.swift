import CountersignTelemetry
import ServiceRuntime
import Testing

@testable import JobEngine

@Suite struct RuntimeFactsTests {
  private let begin = MonotonicTime(nanoseconds: 0)

  @Test func `Delays are counted by reason, and the oldest reason goes when there are too many`() {
    let delays = RecentDelays()
    for number in 0...RecentDelays.maxReasons {
      delays.note(Reason("CODE_\(number)", "A sentence."), now: begin + .seconds(number))
    }
    delays.note(Reason("CODE_5", "Another sentence."), now: begin + .seconds(30))
    let list = delays.list("sms.dispatch", now: begin + .seconds(40))
    #expect(list.count == RecentDelays.maxReasons)
    #expect(!list.contains { $0.code == "CODE_0" })
    #expect(
      list.first { $0.code == "CODE_5" }
        == RuntimeReport.Delay(queue: "sms.dispatch", code: "CODE_5", detail: "Another sentence.", count: 2, age: 10))
  }

  @Test func `A lane tells of its last failure, of failures in a row, and of the last answer`() throws {
    var lane = LaneState(LaneConfiguration(name: "twilio", breakerThreshold: 9), now: begin)
    func call(_ report: CallReport, at seconds: Int) throws {
      let now = begin + .seconds(seconds)
      guard case .granted(let grant) = lane.acquire(ticket: nil, giveUpAt: now, now: now) else {
        return #expect(Bool(false), "no slot")
      }
      _ = lane.finish(grant, report, now: now, jitter: 0)
    }
    func described() -> RuntimeReport.Lane { lane.described("q", now: begin + .seconds(10)) }
    #expect(described() == .init(name: "twilio", queue: "q", isUp: true, reason: nil, failures: 0, answered: nil))
    try call(.answered, at: 1)
    try call(.failed(Reason("E", "Error.")), at: 2)
    try call(.failed(Reason("E", "Error.")), at: 3)
    #expect(described() == .init(name: "twilio", queue: "q", isUp: true, reason: "E: Error.", failures: 2, answered: 9))
    try call(.down(Reason("C", "Credentials.")), at: 4)
    #expect(
      described() == .init(name: "twilio", queue: "q", isUp: false, reason: "C: Credentials.", failures: 0, answered: 9)
    )
  }

  @Test func `A lane is up before its first call`() {
    let registry = MetricsRegistry()
    _ = WorkerMetrics(registry, queue: "sms.dispatch", lanes: ["twilio"])
    #expect(registry.render().contains(#"countersign_lane_up{type="sms.dispatch",lane="twilio"} 1"#))
  }
}
