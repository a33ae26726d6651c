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
    at now: UnixTime, _ body: (inout WorkingSet) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var set = WorkingSet(at: now)
    let result = try set.run(load: load, body)
    write(set.changes)
    return result
  }

  private func load(_ keys: StoreKeys, into set: inout WorkingSet) throws(StoreError) {
    try set.begin(keys)
    for id in keys.records {
      if let record = records[id] { set.load(record) } else { set.load(absent: id) }
    }
    for key in keys.holders {
      for record in records.values where record.uniqueKeys.contains(key) { set.load(record) }
      set.load(absentHolderOf: key)
    }
    for (key, page) in keys.groups {
      set.load(records.values.filter { $0.groupKeys.contains(key) }, of: key, page, isComplete: true)
    }
    for (key, slot) in keys.counters {
      let cells = (counters[key] ?? [:]).filter { $0.key >= slot }.sorted { $0.key < $1.key }
      set.load(
        cells.suffix(StoreLimits.maxCellsPerCounter).map { CounterCell(slot: $0.key, count: $0.value.count) }, of: key,
        since: slot)
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
    try store.transact(at: now) { set in record(in: &set) }
  }

  func window(at now: UnixTime, in store: MemoryUsage) throws -> SlidingWindow {
    try store.transact(at: now) { set in window(in: set) }
  }
}

extension RateLimits {
  init(_ limits: Limits) throws {
    self.init(limits: limits, subjects: LimitSubjects(current: try Pepper([UInt8](repeating: 7, count: 32))))
  }

  func admit(_ send: LimitedSend, at now: UnixTime, in store: MemoryUsage) throws -> LimitRefusal? {
    let checks = try checks(of: send)
    return try store.transact(at: now) { set in admit(checks, in: &set) }
  }

  func refusal(of send: LimitedSend, at now: UnixTime, in store: MemoryUsage) throws -> LimitRefusal? {
    let checks = try checks(of: send)
    return try store.transact(at: now) { set in refusal(checks, in: set) }
  }

  func admitCheck(_ check: LimitedCheck, at now: UnixTime, in store: MemoryUsage) throws -> LimitRefusal? {
    try store.transact(at: now) { set throws(StoreError) in try admitCheck(check, in: &set) }
  }

  func countWrong(_ check: LimitedCheck, at now: UnixTime, in store: MemoryUsage) throws {
    try store.transact(at: now) { set throws(StoreError) in try countWrong(check, in: &set) }
  }

  func countRight(_ check: LimitedCheck, at now: UnixTime, in store: MemoryUsage) throws {
    try store.transact(at: now) { set throws(StoreError) in try countRight(check, in: &set) }
  }

  func admitRevocation(
    app: String, noticeTo address: String?, at now: UnixTime, in store: MemoryUsage
  ) throws -> LimitRefusal? {
    try store.transact(at: now) { set throws(StoreError) in
      try admitRevocation(app: app, noticeTo: address, in: &set)
    }
  }

  func forget(_ subjects: [LimitSubject], at now: UnixTime, in store: MemoryUsage) throws -> Int {
    try store.transact(at: now) { set throws(StoreError) in try forget(subjects, in: &set) }
  }
}
