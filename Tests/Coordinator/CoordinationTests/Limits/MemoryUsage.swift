import CountersignTelemetry

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

/// Counters and records in memory: each call is a transaction, and no other one runs meanwhile.
final class MemoryUsage {
  private struct Cell {
    var count: Int64
    var keepUntil: UnixTime
  }

  private(set) var records: [RecordID: Record] = [:]
  private var counters: [CounterKey: [Int64: Cell]] = [:]

  var counts: [String: [Int64: Int64]] {
    var counts: [String: [Int64: Int64]] = [:]
    for (key, cells) in counters {
      counts[String(decoding: key.bytes, as: UTF8.self)] = cells.mapValues(\.count)
    }
    return counts
  }

  func end(of key: CounterKey) -> UnixTime? { counters[key]?.values.map(\.keepUntil).max() }

  func transact<Result>(
    at now: UnixTime, _ addKeys: (inout StoreKeys) throws -> Void, _ body: (inout WorkingSet) throws -> Result
  ) throws -> Result {
    var keys = StoreKeys()
    try addKeys(&keys)
    var set = WorkingSet(at: now)
    load(keys, into: &set)
    let result = try body(&set)
    write(set.changes)
    return result
  }

  private func load(_ keys: StoreKeys, into set: inout WorkingSet) {
    for id in keys.records {
      if let record = records[id] { set.load(record) } else { set.load(absent: id) }
    }
    for key in keys.holders {
      for record in records.values where record.uniqueKeys.contains(key) { set.load(record) }
      set.load(absentHolderOf: key)
    }
    for key in keys.groups.keys {
      set.load(records.values.filter { $0.groupKeys.contains(key) }, of: key, isComplete: true)
    }
    for (key, slot) in keys.counters {
      let cells = (counters[key] ?? [:]).filter { $0.key >= slot }.sorted { $0.key < $1.key }
      set.load(
        cells.suffix(StoreLimits.maxCellsPerCounter).map { CounterCell(slot: $0.key, count: $0.value.count) }, of: key)
    }
  }

  private func write(_ changes: StoreChanges) {
    for change in changes.records {
      switch change {
      case .delete(let stored): records[stored.id] = nil
      case .insert(var record), .update(var record, _):
        record.version += 1
        records[record.id] = record
      }
    }
    for key in changes.forgotten { counters[key] = nil }
    for increment in changes.increments {
      var cell = counters[increment.key]?[increment.slot] ?? Cell(count: 0, keepUntil: increment.keepUntil)
      cell.count += increment.count
      cell.keepUntil = max(cell.keepUntil, increment.keepUntil)
      counters[increment.key, default: [:]][increment.slot] = cell
    }
  }

  func purge(at now: UnixTime) {
    counters = counters.mapValues { $0.filter { $0.value.keepUntil > now } }.filter { !$0.value.isEmpty }
  }
}

extension LimitCounter {
  func record(at now: UnixTime, in store: MemoryUsage) throws {
    try store.transact(at: now) {
      addKeys(to: &$0, at: now)
    } _: {
      try record(at: now, in: &$0)
    }
  }

  func window(at now: UnixTime, in store: MemoryUsage) throws -> SlidingWindow {
    try store.transact(at: now) {
      addKeys(to: &$0, at: now)
    } _: {
      try window(in: $0)
    }
  }
}

extension RateLimits {
  init(_ limits: Limits) throws {
    self.init(limits, subjects: LimitSubjects(current: try Pepper([UInt8](repeating: 7, count: 32))))
  }

  func admit(_ send: LimitedSend, at now: UnixTime, in store: MemoryUsage) throws -> LimitRefusal? {
    try store.transact(at: now) {
      addKeys(of: try checks(of: send), to: &$0, at: now)
    } _: {
      try admit(checks(of: send), in: &$0)
    }
  }

  func refusal(of send: LimitedSend, at now: UnixTime, in store: MemoryUsage) throws -> LimitRefusal? {
    try store.transact(at: now) {
      addKeys(of: try checks(of: send), to: &$0, at: now)
    } _: {
      try refusal(checks(of: send), in: $0)
    }
  }

  func admitCheck(_ check: LimitedCheck, at now: UnixTime, in store: MemoryUsage) throws -> LimitRefusal? {
    try store.transact(at: now) {
      try addKeys(of: check, to: &$0, at: now)
    } _: {
      try admitCheck(check, in: &$0)
    }
  }

  func countWrong(_ check: LimitedCheck, at now: UnixTime, in store: MemoryUsage) throws {
    try store.transact(at: now) {
      try addKeys(of: check, to: &$0, at: now)
    } _: {
      try countWrong(check, in: &$0)
    }
  }

  func countRight(_ check: LimitedCheck, at now: UnixTime, in store: MemoryUsage) throws {
    try store.transact(at: now) {
      try addKeys(of: check, to: &$0, at: now)
    } _: {
      try countRight(check, in: &$0)
    }
  }

  func admitRevocation(
    app: String, noticeTo address: String?, at now: UnixTime, in store: MemoryUsage
  ) throws -> LimitRefusal? {
    try store.transact(at: now) {
      try addRevocationKeys(app: app, noticeTo: address, to: &$0, at: now)
    } _: {
      try admitRevocation(app: app, noticeTo: address, in: &$0)
    }
  }

  func forget(_ subjects: [LimitSubject], at now: UnixTime, in store: MemoryUsage) throws -> Int {
    try store.transact(at: now) {
      try addKeys(ofAll: subjects, to: &$0)
    } _: {
      try forget(subjects, in: &$0)
    }
  }
}
