import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Limits of a project's anonymous accounts: an hour's for an address and its network, a day's (UTC) for the project.
/// Commands without an address share one.
///
/// When the day's budget is used up, only networks that have made few accounts on it go on: users come from many
/// networks, an attack from few.
struct SignUpLimits: Sendable {
  /// So many times the median of the days before is the budget of a day, where it is more than the configured one.
  static let timesTheMedian: Int64 = 10
  static let daysBefore = 7
  static let perNetworkBeyondBudget = 10

  private static let dayLength = Duration.seconds(86_400)

  private let perDay: Int
  private let hour: LimitBench
  private let networkDay: SlotCounter
  private let day: SlotCounter

  init(of subject: LimitSubject, _ figures: Limits, _ hashes: AccountHashes) {
    perDay = figures[.anonymousPerDay]
    hour = LimitBench(Limit.anonymous, of: subject, figures, hashes)
    networkDay = SlotCounter(
      hashes.hash("anonymous sign-ups of a network and day", subject.parts([.network])), slot: Self.dayLength,
      window: .zero)
    let limit = Limit.anonymousPerDay
    day = SlotCounter(
      hashes.hash(limit.counter, subject.parts(limit.parts)), slot: Self.dayLength,
      window: Self.dayLength * Self.daysBefore)
  }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try hour.addKeys(to: &keys, at: now)
    for counter in [networkDay, day] { try counter.addKeys(to: &keys, at: now) }
  }

  func refusal(in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    if let refusal = try hour.refusal(in: set) { return refusal }
    guard try isBudgetUsedUp(in: set), try networkDay.count(of: 0, in: set) >= Self.perNetworkBeyondBudget else {
      return nil
    }
    return LimitRefusal(limit: .anonymousPerDay, wait: day.untilNextSlot(at: set.now))
  }

  func count(in set: inout WorkingSet) throws(StoreError) {
    try hour.count(in: &set)
    for counter in [networkDay, day] { try counter.count(in: &set) }
  }

  func isBudgetUsedUp(in set: WorkingSet) throws(StoreError) -> Bool {
    var before: [Int64] = []
    for index in 1...Self.daysBefore { before.append(try day.count(of: index, in: set)) }
    let median = before.sorted()[Self.daysBefore / 2]
    return try day.count(of: 0, in: set) >= max(Int64(perDay), Self.timesTheMedian * median)
  }
}
