import CountersignTelemetry
import Dispatch
import Glibc
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

/// Each way in which two sessions of a server meet at the same records, as two coordinators do.
@Suite struct PostgreSQLConflictTests {
  /// Has another session do something while a body runs, on the body's own thread.
  private static func meanwhile(_ body: @escaping @Sendable () async throws -> Void) throws(StoreError) {
    let isDone = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Task {
      do { try await body() } catch { failure.withLock { $0 = error } }
      isDone.signal()
    }
    isDone.wait()
    if let error = failure.withLock({ $0 }) { throw StoreError(.misuse, "\(error)") }
  }

  private static func add(_ number: UInt8, to id: RecordID, in set: inout WorkingSet) throws(StoreError) {
    guard var record = try set.record(id) else { throw StoreError(.misuse, "the record is missing") }
    record.body[0] += number
    try set.put(record)
  }

  @Test func `Another version: the later one reads again, and loses nothing of the other's`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let (store, other) = (try await database.open(), try await database.open())
      let (a, runs) = (try id("a"), Recorded())
      try await store.put(Record(a, body: [0]))
      let outcome = try await store.transact(keys(records: [a]), at: start) { set throws(StoreError) -> Int in
        let run = runs.count()
        if run == 1 {
          try Self.meanwhile {
            _ = try await other.transact(keys(records: [a]), at: start) { set throws(StoreError) -> Void in
              try Self.add(5, to: a, in: &set)
            }
          }
        }
        try Self.add(1, to: a, in: &set)
        try set.send(message("x"))
        return run
      }
      let (run, messages) = try stored(outcome)
      #expect(run == 2 && messages.texts == ["x"])
      #expect(try await other.found(a)?.body == [6])
      #expect(try await other.figures().messages == 1)
      #expect(store.status.conflicts == ["changed": 1] && other.status.conflicts.isEmpty)
    }
  }

  @Test func `A repeated transaction takes place at the time of its repetition`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let (store, other) = (try await database.open(), try await database.open())
      let (key, first, second) = (try holder("h"), try id("first"), try id("second"))
      let times = Mutex<[UnixTime]>([])
      let outcome = try await store.transact(keys(holders: [key]), at: start) { set throws(StoreError) -> Void in
        let now = set.now
        let run = times.withLock { times in
          times.append(now)
          return times.count
        }
        guard run == 1 else { return }
        let begun = ContinuousClock.now
        try Self.meanwhile { try await other.put(Record(first, body: [], uniqueKeys: [key])) }
        // The clock goes on meanwhile.
        while ContinuousClock.now - begun < .milliseconds(3) { usleep(500) }
        try set.put(Record(second, body: [], uniqueKeys: [key]))
      }
      _ = try stored(outcome)
      let all = times.withLock { $0 }
      #expect(all.count == 2 && all[0] == start && all[1] >= start + .milliseconds(3))
    }
  }

  @Test func `A repetition locks all it had found in one order, also where its look-ups chain in another`() async throws
  {
    try await PostgreSQLUnderTest.with { database in
      let (mayLock, isLocked) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let store = try await database.open {
        $0.pause = { _ in
          mayLock.signal()
          try? await onNewThread { isLocked.wait() }
        }
      }
      let other = try await database.open()
      let (a, b, runs) = (try id("a"), try id("b"), Recorded())
      for id in [a, b] { try await store.put(Record(id, body: [0])) }
      let process = Int64(store.owner.current.process)
      async let rivalry: Void = database.change { session throws(StoreError) in
        mayLock.wait()
        try session.run("SELECT FROM store_record WHERE id = 'a' FOR UPDATE")
        isLocked.signal()
        let isBlocked = "SELECT cardinality(pg_blocking_pids($1::bigint::integer)) > 0"
        while try !session.run(isBlocked, [.integer(process)])[0].bool(0) { usleep(1_000) }
        // A repetition that held it already would never get the other one.
        try session.run("SELECT FROM store_record WHERE id = 'b' FOR UPDATE NOWAIT")
      }
      let outcome = try await store.transact(keys(records: [b]), at: start) { set throws(StoreError) -> Void in
        // Loaded after the other one.
        _ = try set.record(a)
        if runs.count() == 1 {
          try Self.meanwhile {
            _ = try await other.transact(keys(records: [a, b]), at: start) { set throws(StoreError) -> Void in
              for id in [a, b] { try Self.add(5, to: id, in: &set) }
            }
          }
        }
        for id in [a, b] { try Self.add(1, to: id, in: &set) }
      }
      _ = try stored(outcome)
      try await rivalry
      for id in [a, b] { #expect(try await store.found(id)?.body == [6]) }
      #expect(runs.all == [1, 2])
    }
  }

  @Test func `A unique key that the other one took: the later one finds its holder`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let (store, other) = (try await database.open(), try await database.open())
      let (key, first, second) = (try holder("h"), try id("first"), try id("second"))
      let outcome = try await store.transact(keys(holders: [key]), at: start) { set throws(StoreError) -> String in
        if let found = try set.holder(of: key) { return found.id.text }
        try Self.meanwhile { try await other.put(Record(first, body: [], uniqueKeys: [key])) }
        try set.put(Record(second, body: [], uniqueKeys: [key]))
        return second.text
      }
      #expect(try stored(outcome).value == "first")
      #expect(try await store.found(second) == nil)
      #expect(store.status.conflicts == ["taken": 1])
    }
  }

  @Test func `A unique violation that the server itself reports means to read again`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let (store, other) = (try await database.open(), try await database.open())
      let key = try holder("h")
      let outcome = try await store.repeating { session, attempt throws(StoreError) in
        if attempt == 1 {
          try Self.meanwhile { try await other.put(Record(try id("a"), body: [], uniqueKeys: [key])) }
          try session.run([PostgreSQLStatement("INSERT INTO store_unique VALUES ($1, 'b')", [.bytes(key.bytes)])])
        }
        return (attempt, [])
      }
      #expect(try stored(outcome).value == 2)
      #expect(store.status.conflicts == ["crossed": 1])
    }
  }

  @Test func `A deadlock: the store is ended, waits for the other, and does all of it again`() async throws {
    try await PostgreSQLUnderTest.with { database in
      // Only an administrator may say whom the server ends: the store, as the other one looks for deadlocks too late.
      var own = database
      own.endpoint = try await PrivatePostgreSQL.shared.administrator(of: database.endpoint)
      let store = try await own.open { $0.connections.settings["deadlock_timeout"] = "5s" }
      var options = PostgreSQLOptions.patient
      options.settings["deadlock_timeout"] = "1h"
      let rival = try PostgreSQLConnection(own.endpoint, options: options)
      let (a, b) = (try id("a"), try id("b"))
      for id in [a, b] { try await store.put(Record(id, body: [0])) }
      let (process, isLocked) = (Int64(store.owner.current.process), DispatchSemaphore(value: 0))
      async let rivalry: Void = rival.withTransaction { session throws(StoreError) in
        try session.run("UPDATE store_record SET body = body WHERE id = 'b'")
        isLocked.signal()
        let isBlocked = "SELECT cardinality(pg_blocking_pids($1::bigint::integer)) > 0"
        while try !session.run(isBlocked, [.integer(process)])[0].bool(0) { usleep(1_000) }
        try session.run("UPDATE store_record SET body = body WHERE id = 'a'")
      }
      try await onNewThread { isLocked.wait() }
      let runs = Recorded()
      let outcome = try await store.transact(keys(records: [a, b]), at: start) { set throws(StoreError) -> Void in
        _ = runs.count()
        for id in [a, b] { try Self.add(1, to: id, in: &set) }
      }
      _ = try stored(outcome)
      try await rivalry
      await rival.close()
      #expect(runs.all == [1, 2])
      // Twice, when it comes back before the other one has the lock that it gave up.
      #expect(store.status.conflicts.keys.sorted() == ["crossed"])
      for id in [a, b] { #expect(try await store.found(id)?.body == [1]) }
    }
  }

  @Test func `A serialization failure, where an administrator has forced a stricter isolation, means to read again`()
    async throws
  {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open {
        $0.connections.settings["default_transaction_isolation"] = "repeatable read"
      }
      let other = try await database.open()
      let (a, runs) = (try id("a"), Recorded())
      try await store.put(Record(a, body: [0]))
      let outcome = try await store.transact(keys(records: [a]), at: start) { set throws(StoreError) -> Void in
        if runs.count() == 1 {
          try Self.meanwhile {
            _ = try await other.transact(keys(records: [a]), at: start) { set throws(StoreError) -> Void in
              try Self.add(5, to: a, in: &set)
            }
          }
        }
        try Self.add(1, to: a, in: &set)
      }
      _ = try stored(outcome)
      #expect(runs.all == [1, 2])
      #expect(store.status.conflicts == ["crossed": 1])
      #expect(try await store.found(a)?.body == [6])
    }
  }
}
