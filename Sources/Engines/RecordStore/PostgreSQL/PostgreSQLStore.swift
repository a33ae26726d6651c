public import CountersignTelemetry
public import PostgreSQL
import Synchronization

/// A store in PostgreSQL, which processes on several hosts share.
///
/// One connection, its *session*, does all writing and holds the locks that tell others that it lives. A store that
/// lost its session publishes nothing that it had in hand. A transaction loads, works without locks, writes under
/// guards, and is repeated, with records locked, when another writer was faster.
public final class PostgreSQLStore: Store {
  let connection: PostgreSQLConnection
  let readers: PostgreSQLConnection
  package let owner: StoreOwner
  let serverClock: ServerClock
  let options: PostgreSQLStoreOptions
  let figuresSoFar = Mutex(Figures())
  private let heartbeat: Task<Void, Never>

  struct Figures: Sendable {
    var conflicts: [String: Int] = [:]
    var commits = 0
    var commitTime = Duration.zero
    var oldestSnapshot = 0
  }

  /// Connects, and begins a session.
  /// - Parameters:
  ///   - endpoint: servers, database and account.
  ///   - options: limits.
  /// - Throws: ``StoreError``: ``StoreError/Code/schema`` when an operator has to make or update the tables, or a
  ///   pooler stands in between that shares sessions; ``StoreError/Code/unavailable`` when it may succeed later.
  public static func open(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLStoreOptions = PostgreSQLStoreOptions()
  ) async throws(StoreError) -> PostgreSQLStore {
    try await verifySession(endpoint, options: options.connections)
    return try await connect(endpoint, options)
  }

  /// Connects without a look for a pooler.
  static func connect(
    _ endpoint: PostgreSQLEndpoint, _ options: PostgreSQLStoreOptions
  ) async throws(StoreError) -> PostgreSQLStore {
    let store = try PostgreSQLStore(endpoint, options)
    do throws(StoreError) {
      try await store.begin()
      return store
    } catch {
      await store.close()
      throw error
    }
  }

  private init(
    _ endpoint: PostgreSQLEndpoint, _ options: PostgreSQLStoreOptions
  ) throws(StoreError) {
    self.options = options
    let clock = ServerClock(host: options.host, logger: options.logger)
    serverClock = clock
    let owner = StoreOwner(of: options.kind, isExclusive: options.isExclusive, clock: clock)
    self.owner = owner
    let connection = try PostgreSQLConnection(
      endpoint, options: options.connections,
      prepare: { session throws(StoreError) in
        if let (server, end) = session.certificate { options.onCertificate(server, end) }
        try owner.begin(session)
      })
    self.connection = connection
    readers = try PostgreSQLConnection(readersOf: endpoint, options: options.connections)
    heartbeat = Task { [interval = options.heartbeat] in await Self.beat(connection, clock, every: interval) }
  }

  deinit { heartbeat.cancel() }

  private func begin() async throws(StoreError) {
    try await change { session throws(StoreError) in _ = try session.run(["SELECT 1"]) }
  }

  /// Ends the session at once, so that others may claim what it had in hand.
  public func close() async {
    heartbeat.cancel()
    let owner = owner
    // Whatever ran behind the unlock would run without an owner's locks.
    await connection.close { session throws(StoreError) in try owner.end(session) }
    await readers.close()
  }

  /// The server's clock, which all stores on it go by.
  public var clock: any WallClock { serverClock }

  /// Figures for metrics.
  public var status: PostgreSQLStoreStatus {
    let figures = figuresSoFar.withLock { $0 }
    return PostgreSQLStoreStatus(
      session: connection.status, readers: readers.statuses, conflicts: figures.conflicts, commits: figures.commits,
      commitTime: figures.commitTime, clockDifference: serverClock.difference,
      oldestSnapshot: figures.oldestSnapshot)
  }

  // MARK: Transactions

  public func read(_ keys: StoreKeys, at now: UnixTime) async throws(StoreError) -> WorkingSet {
    try await look { session throws(StoreError) in
      var set = WorkingSet(at: now)
      try PostgreSQLLoad(session: session, isOneState: true).load(keys, into: &set)
      return set
    }
  }

  public func read<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await look(inOneState: true) { session throws(StoreError) in
      var set = WorkingSet(at: now)
      return try PostgreSQLLoad(session: session, isOneState: true).run(first, into: &set, body)
    }
  }

  public func write(
    _ set: WorkingSet, settling settlement: OutboxSettlement
  ) async throws(StoreError) -> StoreOutcome<Void> {
    let (changes, now, owner) = (set.changes, set.now, owner)
    return try await repeating(only: .crossed) { session, _ throws(StoreError) in
      var write = PostgreSQLWrite(owner: owner.current.number, at: now)
      write.add(settlement, former: owner.former)
      write.add(changes)
      return ((), try write.run(session))
    }
  }

  public func transact<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, settling settlement: OutboxSettlement,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> StoreOutcome<Value> {
    let (owner, begun, found) = (owner, ContinuousClock.now, FoundRecords())
    return try await repeating { session, attempt throws(StoreError) in
      // The other writer may have stored later times than that of the first attempt.
      let now = attempt == 1 ? now : now + (ContinuousClock.now - begun)
      let loading = PostgreSQLLoad(session: session, locked: attempt > 1 ? found.ids : nil)
      var set = WorkingSet(at: now)
      let value = try loading.run(first, into: &set, body)
      var write = PostgreSQLWrite(owner: owner.current.number, at: now)
      write.add(settlement, former: owner.former)
      write.add(set.changes)
      do throws(StoreError) {
        return (value, try write.run(session))
      } catch {
        found.note(set)
        throw error
      }
    }
  }

  public func probe() async throws(StoreError) {
    let owner = owner
    try await change { session throws(StoreError) in
      let key = PostgreSQLValue.bytes(Array("countersign-probe-\(owner.current.number)".utf8))
      try session.run(Self.tables.map { PostgreSQLStatement("SELECT FROM \($0) LIMIT 1") })
      try session.run([
        PostgreSQLStatement(
          """
          INSERT INTO store_inbox (key, state, fingerprint, type, reply, keep) VALUES ($1, 0, '', '', '', 0)
          ON CONFLICT (key) DO NOTHING
          """, [key]),
        PostgreSQLStatement("DELETE FROM store_inbox WHERE key = $1", [key]),
      ])
    }
  }

  static let tables = [
    "store_inbox", "store_record", "store_unique", "store_group", "store_counter", "store_outbox",
  ]
}

extension PostgreSQLSession {
  package func rows<Value>(
    _ sql: String, _ values: [PostgreSQLValue], maxRows: Int = 100_000,
    _ read: (PostgreSQLRow) throws(StoreError) -> Value
  ) throws(StoreError) -> [Value] {
    var found: [Value] = []
    for row in try run([PostgreSQLStatement(sql, values, maxRows: maxRows)])[0] { found.append(try read(row)) }
    return found
  }
}
