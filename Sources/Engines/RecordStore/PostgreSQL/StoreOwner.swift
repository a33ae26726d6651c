package import PostgreSQL
import SQLite
import Synchronization

/// The owner of what a store's session has in hand: a number of the session, and of no later one.
package final class StoreOwner: Sendable {
  /// A session and its number.
  package struct Current: Sendable {
    /// Number of the connection, counted by the client.
    var generation = 0
    /// Number of the owner. 0 before the first session.
    package internal(set) var number: Int64 = 0
    /// The server's process, which a pooler may change.
    var process = 0
  }

  private struct State {
    var current = Current()
    var former: [Int64] = []
  }

  package static let owners = PostgreSQLOwners(sort: 1_668_510_580, sequence: "store_owner_seq")
  /// Second key of the lock that all sessions share, and that a copy has to itself. No owner has the number.
  static let everybody = 0
  /// Earlier numbers of this store whose rows it may still delete once they are published.
  private static let maxFormer = 16

  private let state = Mutex(State())
  private let kind: DatabaseKind?
  private let isExclusive: Bool
  private let clock: ServerClock

  init(of kind: DatabaseKind?, isExclusive: Bool, clock: ServerClock) {
    self.kind = kind
    self.isExclusive = isExclusive
    self.clock = clock
  }

  package var current: Current { state.withLock { $0.current } }

  /// Numbers of this store's lost sessions. What they had published and did not settle is deleted, unless another store
  /// has claimed it.
  var former: [Int64] { state.withLock { $0.former } }

  // MARK: Sessions

  func begin(_ session: PostgreSQLSession) throws(StoreError) {
    try PostgreSQLSchema.check([StoreSchemaPostgreSQL.part], session)
    try lock(session)
    if !isExclusive { try checkWhole(session) }
    if let kind { try claim(session, for: kind) }
    let number = try Self.owners.enroll(session)
    let asked = clock.ask()
    let rows = try session.run(Self.enroll, [.integer(number)])
    clock.begin(clock.reading(Int64(try rows[0].int(1)), asked: asked))
    let current = Current(
      generation: session.generation, number: number, process: try rows[0].int(0))
    state.withLock { state in
      if state.current.number > 0 { state.former.append(state.current.number) }
      state.former.removeFirst(max(0, state.former.count - Self.maxFormer))
      state.current = current
    }
  }

  private static let enroll = "INSERT INTO store_owner (number) VALUES ($1) RETURNING process, \(ServerClock.sql)"

  private func lock(_ session: PostgreSQLSession) throws(StoreError) {
    let function = isExclusive ? "pg_try_advisory_lock" : "pg_try_advisory_lock_shared"
    let rows = try session.run("SELECT \(function)(\(Self.owners.sort), \(Self.everybody))")
    guard try rows[0].bool(0) else {
      throw isExclusive
        ? StoreError(.busy, "a process uses the database: stop all of them first")
        : StoreError(.unavailable, "another program has the database to itself: it is being copied")
    }
  }

  /// Refuses a part of a copy also to a process that used the database before the copy began, and lost its session.
  private func checkWhole(_ session: PostgreSQLSession) throws(StoreError) {
    guard let row = try session.run("SELECT id, other FROM store_copy WHERE target").first else { return }
    let mark = CopyMark(id: try row.text(0), isTarget: true, other: try row.text(1))
    if let error = StoreError.isPart(mark) { throw error }
  }

  private func claim(_ session: PostgreSQLSession, for kind: DatabaseKind) throws(StoreError) {
    let rows = try session.run([
      PostgreSQLStatement(
        "INSERT INTO store_service (name) VALUES ($1) ON CONFLICT DO NOTHING", [.text(kind.name)]),
      "SELECT name FROM store_service",
    ])[1]
    let name = try rows[0].text(0)
    guard name != kind.name else { return }
    let other = DatabaseKind(service: name)?.description ?? name
    throw StoreError(
      .schema, "it is the database of \(other), not of \(kind): name another one in database.url")
  }

  /// Ends the ownership at once. The server would notice the end of the connection a little later.
  func end(_ session: PostgreSQLSession) throws(StoreError) {
    guard current.generation == session.generation else { return }
    // The lock that all share as well: a copy that begins now must not find a process.
    try session.run("SELECT pg_advisory_unlock_all()")
  }
}
