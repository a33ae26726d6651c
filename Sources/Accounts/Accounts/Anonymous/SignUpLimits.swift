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

  private let rules: AnonymousRules
  private let address: SlotCounter
  private let network: SlotCounter
  private let networkDay: SlotCounter
  private let day: SlotCounter

  init(_ rules: AnonymousRules, project: String, from address: ClientAddress?, _ hashes: AccountHashes) {
    self.rules = rules
    let network = address?.wideNetwork ?? ""
    self.address = SlotCounter(
      hashes.hash("anonymous sign-ups", [project, address?.network ?? ""]), slot: .seconds(60), window: .seconds(3600))
    self.network = SlotCounter(
      hashes.hash("anonymous sign-ups of a network", [project, network]), slot: .seconds(60), window: .seconds(3600))
    networkDay = SlotCounter(
      hashes.hash("anonymous sign-ups of a network and day", [project, network]), slot: Self.dayLength, window: .zero)
    day = SlotCounter(
      hashes.hash("anonymous sign-ups of a day", [project]), slot: Self.dayLength,
      window: Self.dayLength * Self.daysBefore)
  }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    for counter in [address, network, networkDay, day] { try counter.addKeys(to: &keys, at: now) }
  }

  func refusal(in set: WorkingSet) throws(StoreError) -> SignUpRefusal? {
    if let wait = try address.wait(limit: rules.perAddressPerHour, in: set) {
      return SignUpRefusal(limit: .address, wait: wait)
    }
    if let wait = try network.wait(limit: rules.perNetworkPerHour, in: set) {
      return SignUpRefusal(limit: .network, wait: wait)
    }
    guard try isBudgetUsedUp(in: set), try networkDay.count(of: 0, in: set) >= Self.perNetworkBeyondBudget else {
      return nil
    }
    return SignUpRefusal(limit: .day, wait: day.untilNextSlot(at: set.now))
  }

  func count(in set: inout WorkingSet) throws(StoreError) {
    for counter in [address, network, networkDay, day] { try counter.count(in: &set) }
  }

  func isBudgetUsedUp(in set: WorkingSet) throws(StoreError) -> Bool {
    var before: [Int64] = []
    for index in 1...Self.daysBefore { before.append(try day.count(of: index, in: set)) }
    let median = before.sorted()[Self.daysBefore / 2]
    return try day.count(of: 0, in: set) >= max(Int64(rules.perDay), Self.timesTheMedian * median)
  }
}

struct SignUpRefusal: Sendable, Hashable {
  enum Limit: String, Sendable, CaseIterable {
    case address, network, day
  }

  let limit: Limit
  let wait: Duration
}

extension APIError {
  init(_ refusal: SignUpRefusal) {
    let text =
      switch refusal.limit {
      case .address: "too many anonymous accounts were made from this address within an hour"
      case .network: "too many anonymous accounts were made from the network of this address within an hour"
      case .day: "more anonymous accounts than usual were made today, several of them from this network"
      }
    self.init(
      .tooManyAttempts, text, field: "client.ip", retryAfter: max(1, Int(clamping: refusal.wait.components.seconds)),
      reason: "ANONYMOUS_LIMIT")
  }
}

/// A counter of events in slots of time. A slot counts until a window after its end.
struct SlotCounter: Sendable {
  private let name: [UInt8]
  private let slot: Duration
  private let window: Duration

  init(_ name: [UInt8], slot: Duration, window: Duration) {
    (self.name, self.slot, self.window) = (name, slot, window)
  }

  private var key: CounterKey {
    get throws(StoreError) { try CounterKey(name) }
  }

  private func slot(at time: UnixTime) -> Int64 {
    time.milliseconds - time.milliseconds % slot.wholeMilliseconds
  }

  private func end(ofSlot slot: Int64) -> UnixTime { UnixTime(milliseconds: slot) + self.slot + window }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(counter: try key, since: oldestSlot(at: now))
  }

  private func oldestSlot(at now: UnixTime) -> Int64 { slot(at: now - window - slot) }

  private func cells(in set: WorkingSet) throws(StoreError) -> [CounterCell] {
    try set.cells(of: key, since: oldestSlot(at: set.now))
  }

  func wait(limit: Int, in set: WorkingSet) throws(StoreError) -> Duration? {
    let cells = try cells(in: set).filter { $0.count > 0 && end(ofSlot: $0.slot) > set.now }
    var excess = cells.reduce(1 - Int64(limit)) { $0 + $1.count }
    guard excess > 0 else { return nil }
    for cell in cells {
      excess -= cell.count
      if excess <= 0 { return end(ofSlot: cell.slot) - set.now }
    }
    return window
  }

  func count(of index: Int, in set: WorkingSet) throws(StoreError) -> Int64 {
    let wanted = slot(at: set.now - slot * index)
    return max(0, try cells(in: set).first { $0.slot == wanted }?.count ?? 0)
  }

  func untilNextSlot(at now: UnixTime) -> Duration { UnixTime(milliseconds: slot(at: now)) + slot - now }

  func count(in set: inout WorkingSet) throws(StoreError) {
    let slot = slot(at: set.now)
    set.count(try key, in: slot, keepUntil: end(ofSlot: slot))
  }
}
