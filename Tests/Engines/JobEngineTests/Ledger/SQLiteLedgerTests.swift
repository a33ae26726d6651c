import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import JobEngine

@Suite struct SQLiteLedgerTests {
  @Test func `Claims survive a crash`() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/ledger.sqlite"
      func claim(_ id: String, _ token: Int64, at now: UnixTime) -> LedgerClaim {
        LedgerClaim(messageID: id, token: token, lane: "a", times: .init(now: now, leaseUntil: now + .seconds(20)))
      }
      let before = try await SQLiteLedger.open(path: path)
      _ = try await before.claim(claim("begun", 1, at: start))
      _ = try await before.claim(claim("ended", 2, at: start))
      _ = try await before.settle(claim("ended", 2, at: start), result: [9], at: start)
      await before.close()

      let after = try await SQLiteLedger.open(path: path)
      #expect(try await after.claim(claim("begun", 3, at: start + .seconds(1))) == .held(until: start + .seconds(20)))
      #expect(
        try await after.claim(claim("begun", 3, at: start + .seconds(20))) == .abandoned(lane: "a", unknownCalls: 1))
      #expect(try await after.claim(claim("ended", 3, at: start + .seconds(20))) == .settled(result: [9]))
      await after.close()
    }
  }

  @Test func `The file shrinks when jobs are forgotten`() async throws {
    try await withTemporaryDirectory { directory in
      let ledger = try await SQLiteLedger.open(path: "\(directory)/ledger.sqlite", options: .init(synchronous: .normal))
      for number in 0..<200 {
        let claim = LedgerClaim(
          messageID: "job-\(number)", token: 1, lane: "a", times: .init(now: start, leaseUntil: start + .seconds(20)))
        _ = try await ledger.settle(claim, result: Array(repeating: 1, count: 4000), at: start)
      }
      let open = LedgerClaim(
        messageID: "open", token: 1, lane: "a", times: .init(now: start, leaseUntil: start + .seconds(20)))
      _ = try await ledger.claim(open)
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
      #expect(try await ledger.claim(open) == .claimed(unknownCalls: 0))
      await ledger.close()
    }
  }

  @Test func `A closed ledger says so`() async throws {
    try await withTemporaryDirectory { directory in
      let ledger = try await SQLiteLedger.open(path: "\(directory)/ledger.sqlite")
      await ledger.close()
      let claim = LedgerClaim(
        messageID: "a", token: 1, lane: "a", times: .init(now: start, leaseUntil: start + .seconds(1)))
      await #expect(throws: StoreError.self) { try await ledger.claim(claim) }
    }
  }

  @Test func `A row that cannot be read fails its own entry only`()
    async throws
  {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/ledger.sqlite"
      let ledger = try await SQLiteLedger.open(path: path)
      func claim(_ id: String, _ token: Int64) -> LedgerClaim {
        LedgerClaim(messageID: id, token: token, lane: "a", times: .init(now: start, leaseUntil: start + .seconds(20)))
      }
      _ = try await ledger.claim(claim("damaged", 1))
      let database = try await Database.open(path: path, kind: .ledger, migrations: LedgerSchema.migrations)
      _ = try await database.write { session throws(StoreError) in
        try session.execute("UPDATE job SET state = 7 WHERE key = 'damaged'")
      }
      await database.close()
      let answers = await ledger.write([.claim(claim("one", 2)), .claim(claim("damaged", 3)), .claim(claim("two", 4))])
      #expect(try answers[0].get() == .claim(.claimed(unknownCalls: 0)))
      #expect(throws: StoreError.self) { try answers[1].get() }
      #expect(try answers[2].get() == .claim(.claimed(unknownCalls: 0)))
      #expect(try await ledger.claim(claim("two", 5)) == .held(until: start + .seconds(20)), "it was committed")
      await ledger.close()
    }
  }

  @Test func `A disk that is full in the middle of a batch undoes the batch and is named`() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/ledger.sqlite"
      func claim(_ id: String, _ token: Int64) -> LedgerClaim {
        LedgerClaim(messageID: id, token: token, lane: "a", times: .init(now: start, leaseUntil: start + .seconds(20)))
      }
      let entries: [LedgerEntry] = [
        .claim(claim("before", 1)), .settle(claim("large", 2), result: Array(repeating: 1, count: 200_000), at: start),
        .claim(claim("after", 3)),
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
      let again = await ledger.write([.claim(claim("before", 4)), .claim(claim("large", 5)), .claim(claim("after", 6))])
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
