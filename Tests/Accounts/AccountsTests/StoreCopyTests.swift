import CommandEngine
import FoundationEssentials
import PostgreSQL
import SQLite
import TestSupport
import Testing

@testable import Accounts

@Suite(.onSharedServer) struct StoreCopyTests {
  private func withFile(
    _ path: String, _ setting: AccountsBench.Setting, _ body: (AccountsBench) async throws -> Void
  ) async throws {
    let database = try await Database.open(path: path, kind: .accounts, migrations: ServiceSchema.migrations)
    let store = try await SQLiteStore(in: database)
    try await body(AccountsBench(store, setting))
    await store.close()
    await database.close()
  }

  @Test func `Accounts, sessions and signing keys move to PostgreSQL, and back into a file`() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let files = ["before.sqlite", "after.sqlite"].map { "\(directory.path)/\($0)" }
    let (setting, endpoint) = (try AccountsBench.Setting(), try await PrivatePostgreSQL.shared.storeDatabase())
    let server = StoreCopy.Place.database(endpoint, .patient)
    var known: (account: AccountRecord, sessions: [SessionRecord], keys: [String])?
    func check(_ bench: AccountsBench) async throws {
      let (account, sessions, keys) = try #require(known)
      #expect(try await bench.find(account) == account)
      #expect(try await bench.sessions(of: account) == sessions)
      #expect(bench.parts.idTokens.keys.reading.entries.map(\.id) == keys)
      // A number has one account still.
      let taken = await #expect(throws: StoreError.self) { try await bench.signIn() }
      #expect(taken?.code == .conflict)
    }
    try await withFile(files[0], setting) { bench in
      await bench.maintenance.tidy()
      let account = try await bench.signIn().account
      let keys = bench.parts.idTokens.keys.reading.entries.map(\.id)
      #expect(!keys.isEmpty)
      known = (try #require(try await bench.find(account)), try await bench.sessions(of: account), keys)
      await bench.maintenance.end()
    }
    _ = try await StoreCopy(from: .file(files[0]), to: server).run { _ in }
    let store = try await PostgreSQLStore.open(endpoint)
    try await check(AccountsBench(store, setting))
    await store.close()
    _ = try await StoreCopy(from: server, to: .file(files[1])).run { _ in }
    try await withFile(files[1], setting, check)
  }
}
