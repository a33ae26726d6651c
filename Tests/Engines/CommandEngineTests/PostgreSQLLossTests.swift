import CountersignTelemetry
import PostgreSQL
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct PostgreSQLLossTests {
  /// Every moment of a transaction with so many requests, its commit included.
  private static func cuts(_ requests: Int) -> [CuttingProxy.Cut] {
    (0..<requests).flatMap { [.beforeRequest(behind: $0), .beforeAnswer(behind: $0)] }
  }

  private struct Pair {
    let cut: CuttingProxy.Cut
    let store: PostgreSQLStore
    let other: PostgreSQLStore
    let proxy: CuttingProxy
    let database: PostgreSQLUnderTest

    /// Runs a call of the first store whose session ends meanwhile.
    func cutting<Value>(_ body: () async throws -> Value) async throws -> StoreError? {
      let process = store.owner.current.process
      let losses = store.connection.status.losses
      proxy.set(cut)
      let error = await #expect(throws: StoreError.self) { _ = try await body() }
      // The server notices the end of the connection a little later.
      if store.connection.status.losses > losses { try await database.waitForEnd(of: process) }
      return error
    }

    /// Claims what was left, as both do.
    func claim() async throws -> [StoredMessage] {
      try await other.claimMessages(limit: 9, at: start) + store.claimMessages(limit: 9, at: start)
    }

    func settle(_ messages: [StoredMessage]) async throws {
      for owner in [store, other] { try await owner.settle(OutboxSettlement(finished: messages.map(\.number))) }
      #expect(try await other.figures().messages == 0)
    }
  }

  private static func with(_ cuts: [CuttingProxy.Cut], _ body: (Pair) async throws -> Void) async throws {
    try await PostgreSQLUnderTest.with { database in
      let server = try await PrivatePostgreSQL.shared.server
      let proxy = CuttingProxy(to: server.port)
      defer { proxy.stop() }
      var behind = database
      behind.endpoint = server.overTCP(database.endpoint)
      behind.endpoint.hosts = [ServerAddress(host: "127.0.0.1", port: proxy.port)]
      let store = try await behind.open { options in
        options.heartbeat = .seconds(3600)
        options.connections.reconnectDelay = .milliseconds(1)...(.milliseconds(1))
      }
      let other = try await database.open()
      for cut in cuts {
        try await body(Pair(cut: cut, store: store, other: other, proxy: proxy, database: database))
      }
      #expect(proxy.cuts == cuts.count)
    }
  }

  @Test(arguments: [false, true])
  func `A batch is stored once, answered alike, and its message goes out once`(isChained: Bool) async throws {
    try await Self.with(Self.cuts(isChained ? 4 : 3)) { pair in
      let (cut, store, other) = (pair.cut, pair.store, pair.other)
      let name = "\(cut)"
      let command = try InboxKey(name)
      let load = keys(messages: [command], counters: [try counter(name)])
      let body: @Sendable (inout WorkingSet) throws(StoreError) -> String = { set throws(StoreError) in
        if isChained { _ = try set.cells(of: counter("more")) }
        if case .replied(_, let body)? = try set.message(command)?.state {
          return String(decoding: body, as: UTF8.self)
        }
        try set.set(reply(name), of: command)
        set.count(try counter(name), in: 1, keepUntil: start)
        try set.send(message(name))
        return name
      }
      let error = try await pair.cutting { try await store.transact(load, at: start, body) }
      // Whether it is stored is open only if the answer to the commit was lost.
      let isCommit = cut == .beforeAnswer(behind: isChained ? 3 : 2)
      let isOpen = isCommit || cut == .beforeRequest(behind: isChained ? 3 : 2)
      #expect(
        error?.fault == .store && (isOpen || error?.isCommitUnknown == false), "\(cut): \(String(describing: error))")
      #expect(error?.isRetriable == true)
      let isStored = try await other.read(load, at: start).message(command) != nil
      #expect(isStored == isCommit, "\(cut)")
      let again = try stored(try await store.transact(load, at: start, body))
      #expect(again.value == name)
      let published = try await again.messages + pair.claim()
      #expect(published.texts == [name], "\(cut)")
      try await pair.settle(published)
      #expect(try await other.read(load, at: start).cells(of: try counter(name)).map(\.count) == [1])
    }
  }

  @Test func `A due record is swept once`() async throws {
    try await Self.with(Self.cuts(3)) { pair in
      let (store, other, name) = (pair.store, pair.other, "n\(pair.proxy.cuts)")
      try await other.put(Record(try id(name), body: [], dueAt: start))
      let sweep: @Sendable ([Record], inout WorkingSet) throws(StoreError) -> Int = { records, set throws(StoreError) in
        for record in records {
          try set.remove(record.id)
          try set.send(message(record.id.text))
        }
        return records.count
      }
      _ = try await pair.cutting { try await store.sweep(DueClaim(ticket), at: start, sweep) }
      // A lost session holds no lock.
      _ = try stored(try await other.sweep(DueClaim(ticket), at: start, sweep))
      #expect(try stored(try await store.sweep(DueClaim(ticket), at: start, sweep)).value.rows == 0)
      let published = try await pair.claim()
      #expect(published.texts == [name], "\(pair.cut)")
      try await pair.settle(published)
    }
  }

  @Test func `A message whose claim was lost is claimed by another one, as one that may be out`() async throws {
    // The look, which is the readers', the claim and its commit.
    try await Self.with(Self.cuts(3)) { pair in
      let sent = try await pair.store.add { set throws(StoreError) in try set.send(message("a")) }
      var settlement = OutboxSettlement()
      settlement.postponed = [sent[0].number: start]
      try await pair.store.settle(settlement)
      _ = try await pair.cutting { try await pair.store.claimMessages(limit: 9, at: start) }
      let claimed = try await pair.claim()
      #expect(claimed.texts == ["a"], "\(pair.cut)")
      #expect(claimed.map(\.mayBeOut) == [pair.cut == .beforeAnswer(behind: 2)], "\(pair.cut)")
      try await pair.settle(claimed)
    }
  }
}
