import CountersignTelemetry
import FoundationEssentials
import JobEngine
import RecordStore
import TestSupport
import Testing

@testable import Mail

/// Storages of the list that the tests run on.
enum SuppressionKind: String, CaseIterable, Sendable {
  case sqlite
  case postgresql
}

/// Promises of the list, wherever it is stored.
@Suite struct SuppressionListTests {
  /// Lends two lists in the same place, as two workers have them.
  private func withTwo(
    _ kind: SuppressionKind, _ body: (SuppressionList, SuppressionList) async throws -> Void
  ) async throws {
    switch kind {
    case .sqlite:
      let path = temporaryPath("suppressions")
      defer { for end in ["", "-wal", "-shm", "-turn"] { try? FileManager.default.removeItem(atPath: path + end) } }
      try await lend({ try await SuppressionList.open(path: path) }, body)
    case .postgresql:
      try await PrivatePostgreSQL.admit {
        let database = try await PrivatePostgreSQL.shared.database(with: [RecordPlace.workers.part])
        try await lend({ SuppressionList(try await RecordTable.open(database, at: .workers)) }, body)
      }
    }
  }

  private func lend(
    _ open: () async throws -> SuppressionList, _ body: (SuppressionList, SuppressionList) async throws -> Void
  ) async throws {
    let (first, second) = (try await open(), try await open())
    let result: Result<Void, any Error>
    do { result = .success(try await body(first, second)) } catch { result = .failure(error) }
    await first.close()
    await second.close()
    try result.get()
  }

  private func entry(_ address: String, at second: Int64, code: String? = "550 5.1.1") -> Suppression {
    Suppression(
      address: address, since: time + .seconds(second), reason: "RECIPIENT_GONE", providerCode: code,
      jobID: "job-\(second)\0")
  }

  @Test(arguments: SuppressionKind.allCases)
  func `What one worker adds the other finds, until it is lifted`(_ kind: SuppressionKind) async throws {
    try await withTwo(kind) { list, other in
      let address = try #require(MailAddress("Ada@Example.com"))
      #expect(try await list.entry(for: address) == nil)
      try await list.add(entry(address.key, at: 1))
      #expect(try await other.entry(for: address) == entry(address.key, at: 1))
      #expect(try await other.lift(address))
      #expect(try await list.lift(address) == false)
      #expect(try await list.entry(for: address) == nil)
    }
  }

  @Test(arguments: SuppressionKind.allCases)
  func `The first entry of an address stays`(_ kind: SuppressionKind) async throws {
    try await withTwo(kind) { list, other in
      let address = try #require(MailAddress("ada@example.com"))
      try await list.add(entry(address.key, at: 1, code: nil))
      try await other.add(entry(address.key, at: 2))
      #expect(try await list.entry(for: address) == entry(address.key, at: 1, code: nil))
    }
  }

  @Test(arguments: SuppressionKind.allCases)
  func `Entries are listed, the latest first`(_ kind: SuppressionKind) async throws {
    try await withTwo(kind) { list, _ in
      for second in [2, 3, 1] as [Int64] { try await list.add(entry("a\(second)@example.com", at: second)) }
      #expect(try await list.entries(limit: 2).map(\.address) == ["a3@example.com", "a2@example.com"])
    }
  }
}
