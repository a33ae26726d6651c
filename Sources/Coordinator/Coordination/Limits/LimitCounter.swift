import CommandEngine
import CountersignCryptography
import CountersignTelemetry

/// The stored counter of one limit for one subject.
///
/// New events are counted under the subject's current name. Those under its earlier name, from before the pepper was
/// changed, count with them until they are over.
struct LimitCounter: Sendable {
  private let rule: LimitRule
  private let key: CounterKey
  private let earlierKey: CounterKey?

  init(_ subject: LimitSubject, _ rule: LimitRule) throws(StoreError) {
    self.rule = rule
    key = try CounterKey(limit: rule.key, subject: subject.key)
    if let earlier = subject.earlierKey {
      earlierKey = try CounterKey(limit: rule.key, subject: earlier)
    } else {
      earlierKey = nil
    }
  }

  private var keys: [CounterKey] { [key] + (earlierKey.map { [$0] } ?? []) }

  /// Adds the cells of the window that ends now, and those of a clock that was ahead.
  func addKeys(to all: inout StoreKeys, at now: UnixTime) {
    for key in keys { all.add(counter: key, since: rule.oldestSlot(at: now)) }
  }

  /// The counted events.
  func window(in set: WorkingSet) throws(StoreError) -> SlidingWindow {
    let cells = try set.cells(of: key)
    guard let earlierKey else { return SlidingWindow(cells) }
    return SlidingWindow(cells, and: try set.cells(of: earlierKey))
  }

  /// Counts one more.
  func record(at now: UnixTime, in set: inout WorkingSet) throws(StoreError) {
    let slot = rule.rounded(now)
    let ahead = try takeBack(behind: slot, at: now, in: &set)
    set.count(key, in: slot, by: 1 + ahead, keepUntil: rule.end(ofSlot: slot))
  }

  /// Handles a clock that was set back: takes out the events that were counted ahead of now.
  /// - Returns: the number of those among them that count as of now.
  private func takeBack(behind slot: Int64, at now: UnixTime, in set: inout WorkingSet) throws(StoreError) -> Int64 {
    var count: Int64 = 0
    for key in keys {
      let cells = try set.cells(of: key)
      for cell in cells.reversed() {
        guard cell.slot > slot else { break }
        guard cell.count > 0 else { continue }
        set.count(key, in: cell.slot, by: -cell.count, keepUntil: rule.end(ofSlot: cell.slot))
        if !rule.isOver(cell.slot, at: now) { count += cell.count }
      }
      if cells.count >= Self.manyCells { try dropEmptyCells(of: key, in: &set) }
    }
    return count
  }

  /// One more, and older cells might not be loaded.
  private static let manyCells = StoreLimits.maxCellsPerCounter - 1

  /// Empty cells must not hide others. Only a clock that is set back again and again leaves so many.
  private func dropEmptyCells(of key: CounterKey, in set: inout WorkingSet) throws(StoreError) {
    let cells = try set.cells(of: key)
    guard cells.contains(where: { $0.count <= 0 }) else { return }
    try set.forget(counter: key)
    for cell in cells where cell.count > 0 {
      set.count(key, in: cell.slot, by: cell.count, keepUntil: rule.end(ofSlot: cell.slot))
    }
  }
}

extension CounterKey {
  /// Name of the counter of a limit.
  /// - Parameter subject: a key of a ``LimitSubject``.
  init(limit: LimitRule.Key, subject: String) throws(StoreError) {
    let name = Array("\(subject):\(limit.rawValue)".utf8)
    // The ID of an app may be of any length.
    try self.init(name.count <= StoreLimits.maxHashBytes ? name : SHA256.hash(name))
  }
}

extension LimitSubject {
  /// Names of all its counters, one list for each of its own names.
  private func counters() throws(StoreError) -> [[CounterKey]] {
    var lists: [[CounterKey]] = []
    for subject in [key] + (earlierKey.map { [$0] } ?? []) {
      var list: [CounterKey] = []
      for limit in LimitRule.Key.allCases { list.append(try CounterKey(limit: limit, subject: subject)) }
      lists.append(list)
    }
    return lists
  }

  /// Adds all of its cells.
  func addKeys(to keys: inout StoreKeys) throws(StoreError) {
    for counter in try counters().joined() { keys.add(counter: counter, since: .min) }
  }

  /// Deletes everything that was counted for it.
  /// - Returns: the number of its names under which something was counted.
  func forget(in set: inout WorkingSet) throws(StoreError) -> Int {
    var count = 0
    for list in try counters() {
      let before = set.changeCount
      for counter in list where try !set.cells(of: counter).isEmpty { try set.forget(counter: counter) }
      if set.changeCount != before { count += 1 }
    }
    return count
  }
}
