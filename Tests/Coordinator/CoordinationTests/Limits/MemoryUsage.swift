import CountersignTelemetry
import Testing

@testable import CommandEngine
@testable import Coordination

/// Counters in memory: each call is a transaction.
final class MemoryUsage {
  private(set) var state = MemoryState()

  /// Counts by the name of the counter and by the slot.
  var counts: [String: [Int64: Int64]] {
    var counts: [String: [Int64: Int64]] = [:]
    for (key, cells) in state.counters {
      counts[String(decoding: key.bytes, as: UTF8.self)] = cells.mapValues(\.count)
    }
    return counts
  }

  /// Time from which a counter is gone.
  func end(of key: CounterKey) -> UnixTime? { state.counters[key]?.values.map(\.keepUntil).max() }

  func transact<Result>(
    at now: UnixTime, _ addKeys: (inout StoreKeys) throws -> Void, _ body: (inout WorkingSet) throws -> Result
  ) throws -> Result {
    var keys = StoreKeys()
    try addKeys(&keys)
    var set = try state.load(StoreLoad(keys), at: now)
    let result = try body(&set)
    #expect(state.conflict(with: set.changes) == nil)
    _ = state.write(set.changes, by: 0)
    return result
  }

  func purge(at now: UnixTime) { while state.purge(.counters, 1024, at: now) > 0 {} }
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
