import CountersignTelemetry
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct CoordinatorMetricsTests {
  private let registry = MetricsRegistry()

  @Test func `What alerts watch begins at 0, so that they see the first`() {
    let metrics = CoordinatorMetrics(registry)
    let lines = Set(registry.render().split(separator: "\n").map(String.init))
    for limit in Limit.refusing {
      #expect(lines.contains(#"countersign_limited_total{limit="\#(limit.label)"} 0"#))
    }
    for number in ["real", "fictional"] {
      #expect(lines.contains(#"countersign_wrong_codes_total{number="\#(number)"} 0"#))
      #expect(lines.contains(#"countersign_codes_lost_total{number="\#(number)"} 0"#))
    }
    // Without it no share of codes that come back would be too low.
    #expect(lines.contains(#"countersign_verifications_total{event="approved"} 0"#))
    var set = WorkingSet(at: UnixTime(seconds: 0))
    metrics.count(LimitRefusal(limit: .sendsPerDay, figure: 1, wait: .seconds(1)), in: &set)
    for effect in set.effects { effect() }
    metrics.countWrongCode(isFictional: false)
    metrics.countWrongCode(isFictional: false)
    let counted = Set(registry.render().split(separator: "\n").map(String.init)).subtracting(lines)
    #expect(
      counted == [#"countersign_limited_total{limit="total"} 1"#, #"countersign_wrong_codes_total{number="real"} 2"#])
  }
}
