import CommandEngine
import CountersignTelemetry

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

  private func currentCells(in set: WorkingSet) throws(StoreError) -> [CounterCell] {
    try cells(in: set).filter { $0.count > 0 && end(ofSlot: $0.slot) > set.now }
  }

  func wait(limit: Int, in set: WorkingSet) throws(StoreError) -> Duration? {
    let cells = try currentCells(in: set)
    var excess = cells.reduce(1 - Int64(limit)) { $0 + $1.count }
    guard excess > 0 else { return nil }
    for cell in cells {
      excess -= cell.count
      if excess <= 0 { return end(ofSlot: cell.slot) - set.now }
    }
    return window
  }

  func count(in set: WorkingSet) throws(StoreError) -> Int64 {
    try currentCells(in: set).reduce(0) { $0 + $1.count }
  }

  /// End of the newest slot with an event that counts.
  func end(in set: WorkingSet) throws(StoreError) -> UnixTime? {
    try currentCells(in: set).last.map { UnixTime(milliseconds: $0.slot) + slot }
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

extension SlotCounter {
  /// The counter of a limit: an hour, by minutes.
  static func hour(_ limit: Limit, of subject: LimitSubject, _ hashes: AccountHashes) -> SlotCounter {
    SlotCounter(hashes.hash(limit.counter, subject.parts(limit.parts)), slot: .seconds(60), window: .seconds(3600))
  }
}
