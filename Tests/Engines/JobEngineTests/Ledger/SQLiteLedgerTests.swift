import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import JobEngine

@Suite struct SQLiteLedgerTests {
  @Test func `Claims survive a crash`() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/ledger.sqlite"
      let before = try await SQLiteLedger.open(path: path)
      _ = try await before.claim(claim("begun", token: 1, at: start))
      _ = try await before.claim(claim("ended", token: 2, at: start))
      _ = try await before.settle(claim("ended", token: 2, at: start), result: [9], at: start)
      await before.close()

      let after = try await SQLiteLedger.open(path: path)
      #expect(
        try await after.claim(claim("begun", token: 3, at: start + .seconds(1))) == .held(until: start + .seconds(20)))
      #expect(
        try await after.claim(claim("begun", token: 3, at: start + .seconds(20)))
          == .abandoned(lane: "a", unknownCalls: 1))
      #expect(try await after.claim(claim("ended", token: 3, at: start + .seconds(20))) == .settled(result: [9]))
      await after.close()
    }
  }

  @Test func `The file shrinks when jobs are forgotten`() async throws {
    try await withTemporaryDirectory { directory in
      let ledger = try await SQLiteLedger.open(path: "\(directory)/ledger.sqlite", options: .init(synchronous: .normal))
      for number in 0..<200 {
        _ = try await ledger.settle(claim("job-\(number)"), result: Array(repeating: 1, count: 4000), at: start)
      }
      _ = try await ledger.claim(claim("open"))
      let full = try #require(try await ledger.size())
      #expect(full.oldest == start)
      #expect(full.usedBytes > 800_000)
      #expect(try await ledger.forgetOldest(limit: 1000) == 200, "what was only begun stays")
      let emptied = try #require(try await ledger.size())
      #expect(emptied.fileBytes == full.fileBytes)
      #expect(emptied.usedBytes < 100_000)
      try await ledger.shrink(pages: 1000)
      let small = try #require(try await ledger.size())
      #expect(small.fileBytes < 100_000)
      #expect(try await ledger.claim(claim("open")) == .claimed(unknownCalls: 0))
      await ledger.close()
    }
  }

  @Test func `A closed ledger says so`() async throws {
    try await withTemporaryDirectory { directory in
      let ledger = try await SQLiteLedger.open(path: "\(directory)/ledger.sqlite")
      await ledger.close()
      await #expect(throws: StoreError.self) { try await ledger.claim(claim()) }
    }
  }

  @Test func `A row that cannot be read fails its own entry only`()
    async throws
  {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/ledger.sqlite"
      let ledger = try await SQLiteLedger.open(path: path)
      _ = try await ledger.claim(claim("damaged", token: 1))
      let database = try await Database.open(path: path, kind: .ledger, migrations: LedgerSchema.migrations)
      _ = try await database.write { session throws(StoreError) in
        try session.execute("UPDATE job SET state = 7 WHERE key = 'damaged'")
      }
      await database.close()
      let answers = await ledger.write([
        .claim(claim("one", token: 2)), .claim(claim("damaged", token: 3)), .claim(claim("two", token: 4)),
      ])
      #expect(try answers[0].get() == .claim(.claimed(unknownCalls: 0)))
      #expect(throws: StoreError.self) { try answers[1].get() }
      #expect(try answers[2].get() == .claim(.claimed(unknownCalls: 0)))
      #expect(try await ledger.claim(claim("two", token: 5)) == .held(until: start + .seconds(20)), "it was committed")
      await ledger.close()
    }
  }

  @Test func `A disk that is full in the middle of a batch undoes the batch and is named`() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/ledger.sqlite"
      let entries: [LedgerEntry] = [
        .claim(claim("before", token: 1)),
        .settle(claim("large", token: 2), result: Array(repeating: 1, count: 200_000), at: start),
        .claim(claim("after", token: 3)),
      ]
      let database = try await Database.open(path: path, kind: .ledger, migrations: LedgerSchema.migrations)
      do {
        try await database.write(isSingleChange: true) { session throws(StoreError) in
          let pages = try session.first("PRAGMA page_count") { row throws(StoreError) in row.int(0) } ?? 0
          _ = try session.first("PRAGMA max_page_count = \(pages + 8)") { row throws(StoreError) in row.int(0) }
          _ = try LedgerStatements.write(entries, session)
        }
        Issue.record("the disk took the batch")
      } catch {
        #expect((error as? StoreError)?.code == .full)
      }
      await database.close()
      let ledger = try await SQLiteLedger.open(path: path)
      let again = await ledger.write([
        .claim(claim("before", token: 4)), .claim(claim("large", token: 5)), .claim(claim("after", token: 6)),
      ])
      for answer in again { #expect(try answer.get() == .claim(.claimed(unknownCalls: 0))) }
      await ledger.close()
    }
  }

  @Test func `A missing directory is named`() async throws {
    do {
      _ = try await SQLiteLedger.open(path: "/nonexistent/ledger.sqlite")
      Issue.record("opened a file in a directory that is missing")
    } catch {
      #expect(error.description.contains("/nonexistent"))
    }
  }
}
