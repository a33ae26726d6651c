import CountersignAMQP
import CountersignTelemetry
import CrashMarks
import FoundationEssentials
import PostgreSQL
import TestSupport
import Testing

@testable import CommandEngine
@testable import CommandLine
@testable import RecordStore

@Suite struct StoreRightsTests {
  private static let now = UnixTime(seconds: 1_782_907_200)
  private static let ticket = RecordKind("ticket")

  private func database(isWorkers: Bool = false) async throws -> PostgreSQLEndpoint {
    let database = try await PrivatePostgreSQL.shared.database()
    var endpoint = try await PrivatePostgreSQL.shared.administrator(of: database)
    let suffix = UUID().uuidString.lowercased().filter { $0 != "-" }.prefix(12)
    let roles = StoreRoles(
      owner: "owner_\(suffix)", service: "coordinator_\(suffix)", worker: "worker_\(suffix)")
    let creation = StoreCreation(
      endpoint: endpoint, roles: roles, passwords: [:], parts: StoreParts.all, timeout: .patience)
    _ = try await creation.run()
    endpoint.user = isWorkers ? roles.users[1] : roles.service
    return endpoint
  }

  private static func changeEverything(_ set: inout WorkingSet) throws(StoreError) {
    guard let id = RecordID(ticket, "a") else { return }
    try set.put(
      Record(
        id, body: [1], dueAt: now, uniqueKeys: [UniqueKey(KeySpace(ticket, "holder"), [1])],
        groupKeys: [GroupKey(KeySpace(ticket, "group"), [2])]))
    let command = try InboxKey("m")
    try set.set(
      InboxEntry(.replied(type: "x", body: [1, 2, 3]), fingerprint: [], keepUntil: now + .seconds(1)), of: command)
    set.count(try CounterKey([3]), in: 1, keepUntil: now)
    try set.send(OutboxMessage(type: "x", content: []))
    try set.send(
      OutboxMessage(type: "x", content: [], hold: OutboxMessage.Hold(untilReplyTo: command, orAt: now + .seconds(9))))
  }

  @Test func `A coordinator's role suffices for all that a store does`() async throws {
    try await PrivatePostgreSQL.admit {
      let endpoint = try await database()
      let stores = [try await PostgreSQLStore.open(endpoint), try await PostgreSQLStore.open(endpoint)]
      var keys = StoreKeys()
      keys.add(message: try InboxKey("m"))
      let outcome = try await stores[0].transact(keys, at: Self.now) { set throws(StoreError) -> Void in
        try Self.changeEverything(&set)
      }
      guard case .stored(_, let sent) = outcome else { return #expect(Bool(false), "a conflict") }
      #expect(await stores[0].owned(sent).count == 1)
      #expect(try await stores[0].release(heldBy: [try InboxKey("m")], at: Self.now).count == 1)
      try await stores[0].settle(OutboxSettlement(finished: sent.map(\.number)))
      #expect(try await stores[0].figures().messages == 1)
      await stores[0].close()
      let store = stores[1]
      #expect(try await store.claimMessages(limit: 9, at: Self.now).count == 1)
      try await store.probe()
      #expect(try await store.counters(named: [3], since: 0, limit: 9).count == 1)
      #expect(try await store.count(KeySpace(Self.ticket, "holder")) == 1)
      _ = try await store.sweep(DueClaim(Self.ticket), at: Self.now) { records, set throws(StoreError) -> Void in
        for record in records { try set.remove(record.id) }
        _ = try set.cells(of: CounterKey([3]), since: 0)
        set.forget(counter: try CounterKey([3]))
      }
      #expect(try await store.forget(repliesContaining: [2]) == 1)
      _ = try await store.forgetCounters()
      for part in StorePart.allCases { _ = try await store.purge(part, limit: 9, at: Self.now) }
      await store.close()
    }
  }

  @Test(arguments: ["coordinator", "worker"])
  func `Both roles suffice for marks`(role: String) async throws {
    try await PrivatePostgreSQL.admit {
      let store = try await RecordMarks.open(try await database(isWorkers: role == "worker"))
      let key = MessageKey(Delivery(message: Message(messageID: "m")), queue: "q")
      let mark = NewMark(key: key, standing: MarkStanding(), isAlone: true)
      try await store.write([mark], at: Self.now)
      try await store.relax(key)
      try await store.giveBack([key])
      let standing = try #require(try await store.find([key])[key])
      #expect(standing.begun == 1)
      try await store.write([NewMark(key: key, standing: standing, isAlone: false)], at: Self.now)
      try await store.remove([key])
      try await store.release()
      #expect(try await store.find([key]).isEmpty)
      await store.close()
    }
  }
}
