import JobEngine
import ServiceRuntime

/// The section `bulk`: whether the worker takes messages that can wait, and their share of the lanes.
struct BulkSettings: Sendable, Hashable {
  /// Share of each lane's concurrency and rate, above 0 and below 1.
  let share: Double
  /// Number of jobs taken from the queue ahead.
  let prefetch: Int

  /// Codes keep at least half of each lane.
  static let maxShare = 0.5

  init?(_ section: ConfigurationSection, lanes: [LaneConfiguration]) {
    share = section.number(
      "share", default: 0, in: 0...Self.maxShare,
      "The share of each lane's concurrency and rate for messages of the queue sms.bulk; 0: the worker consumes none.")
    prefetch = section.integer(
      "prefetch", default: 64, in: 1...65_535, "Messages taken from the queue sms.bulk ahead.")
    guard share > 0 else { return nil }
    for lane in lanes where lane.concurrency < 2 {
      section.problem("share", "leaves nothing of the lane \(lane.name), whose concurrency is 1: it needs at least 2")
    }
  }
}

extension LaneConfiguration {
  /// Together they are the lane as configured. Only a burst of 1 cannot be divided, so each part has one then.
  func split(_ share: Double) -> (share: LaneConfiguration, rest: LaneConfiguration) {
    var (part, rest) = (self, self)
    part.concurrency = min(max(1, Int(Double(concurrency) * share)), max(1, concurrency - 1))
    rest.concurrency = max(1, concurrency - part.concurrency)
    if let rate {
      part.rate = LaneRate(perSecond: rate.perSecond * share, burst: max(1, Int(Double(rate.burst) * share)))
      rest.rate = LaneRate(
        perSecond: rate.perSecond * (1 - share), burst: max(1, rate.burst - Int(Double(rate.burst) * share)))
    }
    return (part, rest)
  }
}
