import Telemetry
import Testing

@testable import WorkerRuntime

@Suite struct SQLiteLedgerTests {
  @Test func whatWasClaimedBeforeACrashIsKnownAfterIt() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/ledger.sqlite"
      func claim(_ id: String, _ token: Int64, at now: UnixTime) -> LedgerClaim {
        LedgerClaim(messageID: id, owner: "w", token: token, lane: "a", now: now, leaseUntil: now + .seconds(20))
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

  @Test func aClosedLedgerSaysSo() async throws {
    try await withTemporaryDirectory { directory in
      let ledger = try await SQLiteLedger.open(path: "\(directory)/ledger.sqlite")
      await ledger.close()
      let claim = LedgerClaim(
        messageID: "a", owner: "w", token: 1, lane: "a", now: start, leaseUntil: start + .seconds(1))
      await #expect(throws: LedgerError.self) { try await ledger.claim(claim) }
    }
  }

  @Test func aMissingDirectoryIsNamed() async throws {
    do {
      _ = try await SQLiteLedger.open(path: "/nonexistent/ledger.sqlite")
      Issue.record("opened a file in a directory that is missing")
    } catch {
      #expect(error.description.contains("/nonexistent"))
    }
  }
}
