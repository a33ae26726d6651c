import CountersignAMQP
import CountersignTelemetry
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct AttendanceTests {
  private static let host = BrokerHost("localhost", port: 5672)
  private static let lost = ConnectionEvent.disconnected(
    AMQPError(.resourceLocked, "taken"), at: host, retryIn: .seconds(1))

  private let metrics = MetricsRegistry()
  private let sink = MemorySink()

  private func make() -> Attendance { Attendance(metrics, logger: Logger(label: "test", sink: sink)) }

  /// The duty after some changes: only the latest counts.
  private func duty(_ attendance: Attendance) async -> [Attendance.Duty] {
    attendance.end()
    var seen: [Attendance.Duty] = []
    await attendance.follow { seen.append($0) }
    return seen
  }

  @Test func `Results are taken while commands are, whatever else happens to their connection`() async {
    let attendance = make()
    for event in [ConnectionEvent.connected(Self.host), .unblocked] { attendance.note(event) }
    #expect(await duty(attendance) == [.all])
    let other = make()
    for event in [ConnectionEvent.connected(Self.host), .unblocked, Self.lost, .stopped] { other.note(event) }
    #expect(await duty(other) == [.commands])
  }

  @Test func `Any reason keeps both queues from being consumed, until the last one is gone`() async {
    let attendance = make()
    attendance.note(.connected(Self.host))
    attendance.set(.session, Attendance.Problem("no session", hint: "look"))
    attendance.set(.secrets, Attendance.Problem("another pepper"))
    attendance.set(.session, nil)
    #expect(await duty(attendance) == [.none])
    let other = make()
    other.set(.secrets, Attendance.Problem("another pepper"))
    other.set(.secrets, nil)
    #expect(await duty(other) == [.commands])
  }

  @Test func `It is told once a change: in the log, in the metric and by the readiness`() {
    let attendance = make()
    #expect(attendance.health == .ok)
    for text in ["one", "another"] { attendance.set(.session, Attendance.Problem(text, hint: "look")) }
    #expect(attendance.health == .failing("takes no messages: another", hint: "look"))
    #expect(metrics.render().contains(#"countersign_stepped_aside{reason="session"} 1"#))
    attendance.set(.session, nil)
    attendance.set(.session, nil)
    #expect(attendance.health == .ok)
    #expect(metrics.render().contains(#"countersign_stepped_aside{reason="session"} 0"#))
    #expect(sink.events.map(\.level) == [.warning, .info])
  }

  @Test func `A session that is lost is waited for, one that is silent has been waited for`() {
    let start = ContinuousClock.now
    var absence = SessionAbsence()
    func problem(_ session: SessionState, _ milliseconds: Int) -> Bool {
      absence.problem(session, at: start + .milliseconds(milliseconds)) != nil
    }
    #expect(!problem(.up, 0))
    #expect(!problem(.lost, 100) && !problem(.lost, 2_000) && problem(.lost, 2_100) && problem(.lost, 9_000))
    #expect(!problem(.up, 9_100))
    // Counted anew.
    #expect(!problem(.lost, 9_200) && problem(.lost, 11_200))
    #expect(!problem(.up, 11_300))
    // A silent one that turns out to be lost does not begin to be waited for.
    #expect(problem(.silent, 11_400) && problem(.lost, 11_500) && !problem(.up, 11_600))
  }
}
