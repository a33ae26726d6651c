import CommandEngine
import CountersignCryptography
import CountersignTelemetry

struct LimitRule: Sendable, Hashable {
  /// The most entries that a window of a large limit keeps.
  static let maxEntries = 64

  let key: String
  var limit: Int
  let windowMilliseconds: Int64
  var window: Duration { .milliseconds(windowMilliseconds) }
  private let step: Int64

  /// A sliding window: exact up to ``maxEntries``, by 64ths of the window beyond.
  init(sliding key: String, limit: Int, window: Duration, isSummed: Bool = false) {
    self.key = key
    self.limit = limit
    windowMilliseconds = max(window.wholeMilliseconds, 1)
    step = limit <= Self.maxEntries && !isSummed ? 1 : max(1, windowMilliseconds / Int64(Self.maxEntries))
  }

  init(daily key: String, limit: Int) {
    self.key = key
    self.limit = limit
    windowMilliseconds = 86_400_000
    step = windowMilliseconds
  }

  var isExact: Bool { step == 1 }

  func rounded(_ now: UnixTime) -> Int64 {
    now.milliseconds - now.milliseconds % step
  }

  func oldestSlot(at now: UnixTime) -> Int64 { rounded(now - window) }

  /// Always the same for the same slot.
  func end(ofSlot slot: Int64) -> UnixTime { UnixTime(milliseconds: slot + windowMilliseconds) }

  /// Whether an entry no longer counts, or cannot have happened.
  func isOver(_ at: Int64, at now: UnixTime) -> Bool {
    at + windowMilliseconds <= now.milliseconds || at - windowMilliseconds > now.milliseconds
  }
}

/// Number of events within a recent period, from the cells of a ``LimitCounter``. Times are rounded down to `step`: a
/// millisecond makes it exact, the window's length makes it a calendar window (a day in UTC).
///
/// Entries counted while the clock was ahead by more than ``StoreLimits/maxAhead`` count as of now once it is set back.
struct SlidingWindow: Sendable, Hashable {
  /// The cells, oldest first, each time once.
  let cells: [CounterCell]

  init(_ cells: [CounterCell] = [], and earlier: [CounterCell] = []) {
    guard !earlier.isEmpty else {
      self.cells = cells
      return
    }
    var merged: [CounterCell] = []
    for cell in (cells + earlier).sorted(by: { $0.slot < $1.slot }) {
      if let last = merged.last, last.slot == cell.slot, last.count > 0, cell.count > 0 {
        merged[merged.count - 1].count += cell.count
      } else {
        merged.append(cell)
      }
    }
    self.cells = merged
  }

  private func events(in cell: CounterCell, at now: UnixTime, _ rule: LimitRule) -> Int {
    rule.isOver(cell.slot, at: now) ? 0 : Int(max(0, cell.count))
  }

  func count(at now: UnixTime, _ rule: LimitRule) -> Int {
    cells.reduce(0) { $0 + events(in: $1, at: now, rule) }
  }

  func wait(at now: UnixTime, _ rule: LimitRule) -> Duration? {
    var excess = count(at: now, rule) - rule.limit + 1
    guard excess > 0 else { return nil }
    for cell in cells {
      let events = events(in: cell, at: now, rule)
      excess -= events
      if excess <= 0, events > 0 { return .milliseconds(cell.slot + rule.windowMilliseconds - now.milliseconds) }
    }
    // A limit of zero: waiting does not help, so return the whole window.
    return rule.window
  }
}

/// The stored counter of one limit for one subject.
///
/// New events are counted under the subject's current name. Those under its earlier name, from before the pepper was
/// changed, count with them until they are over.
struct LimitCounter: Sendable {
  let rule: LimitRule
  private let key: CounterKey
  private let earlierKey: CounterKey?
  /// Whether the counter of a longer rule holds its events.
  private let isPart: Bool

  init(_ subject: LimitSubject, _ rule: LimitRule, within longer: LimitRule? = nil) throws(StoreError) {
    self.rule = rule
    isPart = rule.isExact && longer?.isExact ?? false
    let name = isPart ? longer?.key ?? rule.key : rule.key
    key = try CounterKey(limit: name, subject: subject.key)
    if let earlier = subject.earlierKey {
      earlierKey = try CounterKey(limit: name, subject: earlier)
    } else {
      earlierKey = nil
    }
  }

  /// Adds the cells of the window that ends now, and those of a clock that was ahead.
  func addKeys(to all: inout StoreKeys, at now: UnixTime) {
    let slot = rule.oldestSlot(at: now)
    all.add(counter: key, since: slot)
    if let earlierKey { all.add(counter: earlierKey, since: slot) }
  }

  func window(in set: WorkingSet) -> SlidingWindow {
    SlidingWindow(cells(of: key, in: set), and: earlierKey.map { cells(of: $0, in: set) } ?? [])
  }

  private func cells(of key: CounterKey, in set: WorkingSet) -> [CounterCell] {
    set.cells(of: key, since: rule.oldestSlot(at: set.now))
  }

  /// Its cells need not be loaded.
  func uncount(at time: UnixTime, in set: inout WorkingSet) {
    let slot = rule.rounded(time)
    guard !rule.isOver(slot, at: set.now) else { return }
    set.count(key, in: slot, by: -1, keepUntil: rule.end(ofSlot: slot))
  }

  func record(in set: inout WorkingSet) {
    if isPart { return }
    let slot = rule.rounded(set.now)
    var ahead = takeBack(key, in: &set)
    if let earlierKey { ahead += takeBack(earlierKey, in: &set) }
    set.count(key, in: slot, by: 1 + ahead, keepUntil: rule.end(ofSlot: slot))
  }

  /// Handles a clock that was set back: takes out the events that were counted ahead of now.
  ///
  /// The counter is written anew. Of several writers that do so at once the last one counts; differences would be
  /// subtracted by each of them.
  private func takeBack(_ key: CounterKey, in set: inout WorkingSet) -> Int64 {
    let cells = cells(of: key, in: set)
    let latest = rule.rounded(set.now + StoreLimits.maxAhead)
    guard let newest = cells.last, newest.slot > latest else { return 0 }
    set.forget(counter: key)
    var count: Int64 = 0
    for cell in cells where cell.count > 0 {
      if cell.slot <= latest {
        set.count(key, in: cell.slot, by: cell.count, keepUntil: rule.end(ofSlot: cell.slot))
      } else if !rule.isOver(cell.slot, at: set.now) {
        count += cell.count
      }
    }
    return count
  }
}

extension CounterKey {
  init(limit: String, subject: String) throws(StoreError) {
    var name: [UInt8] = []
    name.reserveCapacity(subject.utf8.count + 3)
    name.append(contentsOf: subject.utf8)
    name.append(UInt8(ascii: ":"))
    name.append(contentsOf: limit.utf8)
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
      for limit in Limit.counters { list.append(try CounterKey(limit: limit, subject: subject)) }
      lists.append(list)
    }
    return lists
  }

  func forget(in set: inout WorkingSet) throws(StoreError) -> Int {
    var count = 0
    for list in try counters() {
      let before = set.changeCount
      for counter in list where !set.cells(of: counter, since: .min).isEmpty { set.forget(counter: counter) }
      if set.changeCount != before { count += 1 }
    }
    return count
  }
}
