import Glibc
import Synchronization
import TestSupport
import Testing

@testable import SQLite

let notes = [
  Migration(version: 1, sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;")
]

func add(_ text: String, to database: Database) async throws(StoreError) {
  try await database.write { session throws(StoreError) in
    _ = try session.execute("INSERT INTO note (text) VALUES (?)", [Value(text)])
  }
}

func count(in database: Database) async throws(StoreError) -> Int {
  try await database.read { session throws(StoreError) in
    try session.first("SELECT count(*) FROM note") { $0.int(0) } ?? -1
  }
}

func withNotes<T>(
  _ options: DatabaseOptions = DatabaseOptions(), _ body: (Database, String) async throws -> T
) async throws -> T {
  try await withTemporaryDirectory { directory in
    let path = "\(directory)/notes.sqlite"
    let database = try await Database.open(path: path, options: options, migrations: notes)
    do {
      let value = try await body(database, path)
      await database.close()
      return value
    } catch {
      await database.close()
      throw error
    }
  }
}

func failure<T>(of operation: () async throws(StoreError) -> T) async -> StoreError? {
  do {
    _ = try await operation()
    return nil
  } catch {
    return error
  }
}

@Suite struct DatabaseTests {
  @Test func `Reads what was written`() async throws {
    try await withNotes { database, _ in
      try await add("one", to: database)
      let texts = try await database.read { session throws(StoreError) in
        try session.query("SELECT text FROM note") { $0.text(0) }
      }
      #expect(texts == ["one"])
    }
  }

  @Test func `Survives closing and opening`() async throws {
    try await withNotes { database, path in
      try await add("one", to: database)
      await database.close()
      let again = try await Database.open(path: path, migrations: notes)
      #expect(try await count(in: again) == 1)
      await again.close()
    }
  }

  @Test func `A body that throws is undone alone`() async throws {
    try await withNotes { database, _ in
      let results = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<300 {
          group.addTask {
            let error = await failure { () async throws(StoreError) in
              try await database.write { session throws(StoreError) in
                _ = try session.execute("INSERT INTO note (text) VALUES (?)", [Value("\(number)")])
                if number.isMultiple(of: 3) { throw StoreError(.constraint, "on purpose") }
              }
            }
            return error == nil
          }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(results == 200)
      let rows = try await count(in: database)
      #expect(rows == 200)
      let statistics = database.statistics
      #expect(statistics.bodies == 300)
      #expect(statistics.groups < 300)
      #expect(statistics.waitingWrites == 0)
    }
  }

  /// Of bodies of a single change those that fail leave nothing behind, and take nothing of the others with them.
  @Test func `Single changes that fail are alone`() async throws {
    try await withNotes { database, _ in
      let errors = await withTaskGroup(of: StoreError?.self) { group in
        for number in 0..<40 {
          group.addTask {
            await failure { () async throws(StoreError) in
              try await database.write(isSingleChange: true) { session throws(StoreError) in
                // `first` may be there once.
                let values = number % 4 == 3 ? "(?), ('row' || random()), ('first')" : "(?)"
                return try session.execute(
                  "INSERT INTO note (text) VALUES \(values)", [.text(number % 4 == 0 ? "first" : "note \(number)")])
              }
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      let failed = errors.compactMap(\.self)
      #expect(failed.allSatisfy { $0.code == .uniqueConstraint })
      let texts = try await database.read { session throws(StoreError) in
        try session.query("SELECT text FROM note") { $0.text(0) }
      }
      #expect(texts.count { $0 == "first" } == 1)
      // Of a statement of three rows all or none.
      let rows = texts.count { $0.hasPrefix("row") }
      #expect(texts.count == 40 - failed.count + 2 * rows)
      #expect(rows <= 1)
    }
  }

  @Test func `A lone body that throws is undone`() async throws {
    try await withNotes { database, _ in
      let error = await failure { () async throws(StoreError) in
        try await database.write { session throws(StoreError) in
          _ = try session.execute("INSERT INTO note (text) VALUES ('x')")
          throw StoreError(.constraint, "on purpose")
        }
      }
      #expect(error?.message == "on purpose")
      #expect(try await count(in: database) == 0)
      try await add("y", to: database)
      #expect(try await count(in: database) == 1)
    }
  }

  @Test func `Constraints have codes and no values`() async throws {
    try await withNotes { database, _ in
      try await add("secret", to: database)
      let unique = await failure { () async throws(StoreError) in try await add("secret", to: database) }
      #expect(unique?.code == .uniqueConstraint)
      #expect(unique?.description.contains("secret") == false)
      #expect(unique?.isRetriable == false)
      let null = await failure { () async throws(StoreError) in
        try await database.write { session throws(StoreError) in
          _ = try session.execute("INSERT INTO note (text) VALUES (?)", [.null])
        }
      }
      #expect(null?.code == .constraint)
    }
  }

  @Test func `A body may go on after a statement failed`() async throws {
    try await withNotes { database, _ in
      try await add("one", to: database)
      let inserted = try await database.write { session throws(StoreError) in
        do throws(StoreError) {
          try session.execute("INSERT INTO note (text) VALUES ('one')")
          return true
        } catch {
          guard error.code == .uniqueConstraint else { throw error }
          try session.execute("INSERT INTO note (text) VALUES ('two')")
          return false
        }
      }
      #expect(!inserted)
      #expect(try await count(in: database) == 2)
    }
  }

  @Test func `Readers cannot write`() async throws {
    try await withNotes { database, _ in
      let error = await failure { () async throws(StoreError) in
        try await database.read { session throws(StoreError) in
          _ = try session.execute("INSERT INTO note (text) VALUES ('x')")
        }
      }
      #expect(error?.code == .readOnly)
    }
  }

  @Test(
    arguments: ["COMMIT", " begin immediate", "ROLLBACK", "savepoint x", "ATTACH 'x' AS y", "END;", "vacuum"])
  func `Bodies must leave transactions alone`(sql: String) async throws {
    try await withNotes { database, _ in
      let error = await failure { () async throws(StoreError) in
        try await database.write { session throws(StoreError) in
          _ = try session.execute("INSERT INTO note (text) VALUES ('x')")
          _ = try session.execute(sql)
        }
      }
      #expect(error?.code == .misuse)
      let rows = try await count(in: database)
      #expect(rows == 0)
    }
  }

  @Test(arguments: ["INSERT INTO note (text) VALUES ('a'); DELETE FROM note", "", "-- nothing"])
  func `One statement at a time`(sql: String) async throws {
    try await withNotes { database, _ in
      let error = await failure { () async throws(StoreError) in
        try await database.write { session throws(StoreError) in _ = try session.execute(sql) }
      }
      #expect(error?.code == .misuse)
    }
  }

  @Test(arguments: [[], ["a", "b"]] as [[Value]])
  func `Values must fit the statement`(values: [Value]) async throws {
    try await withNotes { database, _ in
      let error = await failure { () async throws(StoreError) in
        try await database.write { session throws(StoreError) in
          _ = try session.execute("INSERT INTO note (text) VALUES (?)", values)
        }
      }
      #expect(error?.code == .misuse)
    }
  }

  @Test func `Invalid SQL is reported`() async throws {
    try await withNotes { database, _ in
      let error = await failure { () async throws(StoreError) in
        try await database.read { session throws(StoreError) in try session.query("SELECT x FROM note") { $0.int(0) }
        }
      }
      #expect(error?.code == .statement)
      #expect(error?.description == "no such column: x (statement, SQLite 1)")
    }
  }

  @Test func `Execute counts changed rows`() async throws {
    try await withNotes { database, _ in
      for text in ["a", "b", "c"] { try await add(text, to: database) }
      let changed = try await database.write { session throws(StoreError) in
        try session.execute("UPDATE note SET text = text || '!' WHERE text < ?", ["c"])
      }
      let none = try await database.write { session throws(StoreError) in
        try session.execute("DELETE FROM note WHERE text = ?", ["c!"])
      }
      #expect(changed == 2)
      #expect(none == 0)
    }
  }

  @Test func `Nested use of one statement`() async throws {
    try await withNotes { database, _ in
      for text in ["a", "b", "c"] { try await add(text, to: database) }
      let pairs = try await database.read { session throws(StoreError) in
        try session.query("SELECT text FROM note ORDER BY id") { row throws(StoreError) in
          let outer = row.text(0)
          let inner = try session.query("SELECT text FROM note ORDER BY id") { $0.text(0) }
          return outer + inner.joined()
        }
      }
      #expect(pairs == ["aabc", "babc", "cabc"])
    }
  }

  /// A body that loses the transaction of its group: the others are told to try again, and nothing of theirs is kept.
  @Test func `A lost transaction is everybodys`() async throws {
    try await withNotes { database, _ in
      try await add("taken", to: database)
      let gate = Gate()
      let codes = await withTaskGroup(of: StoreError.Code?.self) { group in
        group.addTask {
          await failure { () async throws(StoreError) in
            try await database.write { _ throws(StoreError) in
              gate.enter()
              gate.wait()
            }
          }?.code
        }
        await gate.entered()
        for number in 0..<10 {
          group.addTask {
            await failure { () async throws(StoreError) in
              try await database.write { session throws(StoreError) in
                let text = number == 5 ? "taken" : "\(number)"
                try session.execute("INSERT OR ROLLBACK INTO note (text) VALUES (?)", [Value(text)])
              }
            }?.code
          }
        }
        try? await eventually { database.statistics.waitingWrites >= 11 }
        gate.open()
        return await group.reduce(into: []) { $0.append($1) }
      }
      let kept = codes.count { $0 == nil } - 1
      let guilty = codes.count { $0 == .uniqueConstraint }
      #expect(guilty == 1)
      #expect(codes.allSatisfy { $0 == nil || $0 == .uniqueConstraint || $0 == .rolledBack })
      let rows = try await count(in: database)
      #expect(rows == 1 + kept)
    }
  }

  @Test func `Closing refuses what comes later`() async throws {
    try await withNotes { database, _ in
      await database.close()
      let write = await failure { () async throws(StoreError) in try await add("x", to: database) }
      let read = await failure { () async throws(StoreError) in try await count(in: database) }
      #expect(write?.code == .closed)
      #expect(read?.code == .closed)
    }
  }

  @Test func `Closing runs what waits`() async throws {
    try await withNotes { database, path in
      let written = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<500 {
          group.addTask {
            await failure { () async throws(StoreError) in try await add("\(number)", to: database) } == nil
          }
        }
        group.addTask {
          await database.close()
          return false
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      let again = try await Database.open(path: path, migrations: notes)
      #expect(try await count(in: again) == written)
      await again.close()
    }
  }

  @Test func `Too many waiting are refused`() async throws {
    var options = DatabaseOptions()
    options.maxBatch = 4
    options.maxWaiting = 8
    try await withNotes(options) { database, _ in
      // The first body holds the writer until the others have been handed in.
      let gate = Gate()
      let refused = await withTaskGroup(of: Bool.self) { group in
        group.addTask {
          await failure { () async throws(StoreError) in
            try await database.write { _ throws(StoreError) in gate.wait() }
          }?.code == .overloaded
        }
        try? await eventually { database.statistics.waitingWrites >= 1 }
        for number in 0..<20 {
          group.addTask {
            let error = await failure { () async throws(StoreError) in try await add("\(number)", to: database) }
            if error != nil { gate.open() }
            return error?.code == .overloaded && error?.isRetriable == true
          }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(refused >= 1)
      let rows = try await count(in: database)
      #expect(rows == 20 - refused)
    }
  }
}

final class Gate: Sendable {
  private let isEntered = Mutex(false)
  private let isOpen = Mutex(false)

  func enter() { isEntered.withLock { $0 = true } }
  func open() { isOpen.withLock { $0 = true } }

  func wait() {
    while !isOpen.withLock({ $0 }) { usleep(100) }
  }

  func entered() async {
    try? await eventually { isEntered.withLock { $0 } }
  }
}
