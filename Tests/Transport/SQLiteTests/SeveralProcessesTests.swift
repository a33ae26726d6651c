import Glibc
import TestSupport
import Testing

@testable import SQLite

private func writeForAWhile(
  _ path: String, _ options: DatabaseOptions = DatabaseOptions(), name: String, for time: Duration
) async throws -> Int {
  let database = try await Database.open(path: path, options: options, migrations: notes)
  let end = ContinuousClock.now + time
  let written = try await withThrowingTaskGroup(of: Int.self) { group in
    for task in 0..<64 {
      group.addTask {
        var written = 0
        while ContinuousClock.now < end {
          try await add("\(name) \(task) \(written)", to: database)
          written += 1
        }
        return written
      }
    }
    return try await group.reduce(0, +)
  }
  await database.close()
  return written
}

@Suite(.serialized) struct SeveralProcessesTests {
  /// Two real processes on one file, each writing group after group without a pause: neither may starve, nothing may be lost.
  @Test func `Two processes make fair progress`() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/notes.sqlite"
      let first = try await Database.open(path: path, migrations: notes)
      async let one: ExitTest.Result? = #expect(processExitsWith: .exitCode(42)) { [path = path as String] in
        _ = try await writeForAWhile(path, name: "one", for: .seconds(2))
        exit(42)
      }
      async let two: ExitTest.Result? = #expect(processExitsWith: .exitCode(42)) { [path = path as String] in
        _ = try await writeForAWhile(path, name: "two", for: .seconds(2))
        exit(42)
      }
      _ = await (one, two)
      let counts = try await first.read { session throws(StoreError) in
        try session.query("SELECT substr(text, 1, 3), count(*) FROM note GROUP BY 1 ORDER BY 1") {
          ($0.text(0), $0.int(1))
        }
      }
      await first.close()
      #expect(counts.map(\.0) == ["one", "two"])
      guard counts.count == 2 else { return }
      let (smaller, larger) = (min(counts[0].1, counts[1].1), max(counts[0].1, counts[1].1))
      #expect(smaller * 3 > larger, "\(counts)")
    }
  }

  /// Two that write without a pause must not keep each other from copying the log: with passive checkpoints it only grows.
  @Test func `Two databases in one process take turns`() async throws {
    var options = DatabaseOptions()
    options.checkpointPages = 100
    options.maxLogPages = 100_000
    try await withTemporaryDirectory { [options] directory in
      let path = "\(directory)/notes.sqlite"
      async let one = writeForAWhile(path, options, name: "one", for: .seconds(1))
      async let two = writeForAWhile(path, options, name: "two", for: .seconds(1))
      let end = ContinuousClock.now + .seconds(1)
      var largest = 0
      while ContinuousClock.now < end {
        try await Task.sleep(for: .milliseconds(5))
        largest = max(largest, fileSize(path + "-wal"))
      }
      let (first, second) = try await (one, two)
      // A frame has 4,120 bytes; a group of 64 rows, each in two trees, comes on top of the 100.
      #expect(largest < 500 * 4120, "\(largest)")
      #expect(min(first, second) * 3 > max(first, second), "\(first) \(second)")
      let database = try await Database.open(path: path, migrations: notes)
      #expect(try await count(in: database) == first + second)
      await database.close()
    }
  }

  @Test func `A process that holds the file too long is named`() async throws {
    var options = DatabaseOptions()
    options.busyTimeout = .milliseconds(50)
    try await withNotes(options) { database, path in
      let other = try await Database.open(path: path, migrations: notes)
      let gate = Gate()
      async let holding: Void = other.write { _ throws(StoreError) in
        gate.enter()
        gate.wait()
      }
      await gate.entered()
      let error = await failure { () async throws(StoreError) in try await add("x", to: database) }
      gate.open()
      try await holding
      await other.close()
      #expect(error?.code == .busy)
      #expect(error?.isRetriable == true)
    }
  }

  /// Closing takes one time-out, not one for each group that waits.
  @Test func `Closing does not wait for the other`() async throws {
    var options = DatabaseOptions()
    options.busyTimeout = .milliseconds(200)
    options.maxBatch = 1
    try await withNotes(options) { database, path in
      let other = try await Database.open(path: path, migrations: notes)
      let gate = Gate()
      async let holding: Void = other.write { _ throws(StoreError) in
        gate.enter()
        gate.wait()
      }
      await gate.entered()
      let start = ContinuousClock.now
      let refused = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<50 {
          group.addTask {
            await failure { () async throws(StoreError) in try await add("\(number)", to: database) } != nil
          }
        }
        try? await eventually { database.statistics.waitingWrites >= 50 }
        await database.close()
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(refused == 50)
      #expect(ContinuousClock.now - start < .seconds(8))
      gate.open()
      try await holding
      await other.close()
    }
  }

  @Test func `The log stays bounded`() async throws {
    var options = DatabaseOptions(synchronous: .normal)
    options.checkpointPages = 50
    options.maxLogPages = 200
    try await withNotes(options) { database, path in
      let other = try await Database.open(path: path, options: options, migrations: notes)
      let text = String(repeating: "x", count: 4000)
      var largest = 0
      for number in 0..<1500 {
        try await add("\(number) \(text)", to: number.isMultiple(of: 2) ? database : other)
        largest = max(largest, fileSize(path + "-wal"))
      }
      await other.close()
      #expect(largest > 0)
      // A frame is a page and a header of 24 bytes; one group may come on top.
      #expect(largest < (200 + 50) * 4120, "\(largest)")
      #expect(database.statistics.failedCheckpoints == 0)
    }
  }
}
