public import CountersignTelemetry
public import PostgreSQL
import Synchronization

/// Marks in a table of PostgreSQL, which processes of several hosts share: each judges the marks of the dead of all.
///
/// The owner of a mark is a session of the server. A process that has lost its session and has another one takes its
/// marks along: it has not died.
public final class PostgreSQLMarkStore: MarkStore {
  private let connection: PostgreSQLConnection
  private let owner: MarkOwner

  /// Connects. Reconnects automatically if the connection is lost later.
  /// - Throws: ``MarkError`` when there is no connection, or the tables are not those of this program.
  public static func open(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions = PostgreSQLOptions()
  ) async throws(MarkError) -> PostgreSQLMarkStore {
    let store: PostgreSQLMarkStore
    do throws(PostgreSQLError) {
      store = try PostgreSQLMarkStore(endpoint, options)
    } catch {
      throw MarkError(error)
    }
    do throws(MarkError) {
      try await store.session { session throws(PostgreSQLError) -> Void in try session.run("SELECT 1") }
      return store
    } catch {
      await store.connection.close()
      throw error
    }
  }

  private init(_ endpoint: PostgreSQLEndpoint, _ options: PostgreSQLOptions) throws(PostgreSQLError) {
    let owner = MarkOwner()
    self.owner = owner
    connection = try PostgreSQLConnection(endpoint, options: options) { session throws(PostgreSQLError) in
      try owner.begin(session)
    }
  }

  public func find(_ keys: [MessageKey]) async throws(MarkError) -> [MessageKey: MarkStanding] {
    guard !keys.isEmpty else { return [:] }
    let bytes = Dictionary(keys.map { ($0.bytes, $0) }) { first, _ in first }
    let owner = owner
    return try await session { session throws(PostgreSQLError) in
      let rows = try session.run(Self.marks, [.byteArrays(bytes.keys.map { $0 })])
      var records: [MessageKey: [MarkRecord]] = [:]
      for row in rows {
        guard let key = bytes[try row.bytes(0)] else { continue }
        let number = Int64(try row.int(1))
        records[key, default: []].append(
          MarkRecord(
            number: number, owner: owner.state(of: number, isLiving: try row.bool(2)), isAlone: try row.bool(3),
            isSuspect: try row.bool(4), deaths: try row.int(5), begun: try row.int(6)))
      }
      return records.mapValues { MarkStanding($0) }
    }
  }

  private static let marks = """
    SELECT message, owner, owner = ANY (\(MarkOwner.owners.living)), alone, suspect, deaths, begun
    FROM mark_crash WHERE message = ANY ($1::bytea[])
    """

  public func write(_ marks: [NewMark], at now: UnixTime) async throws(MarkError) {
    // In one order, so that two processes do not wait for each other.
    let marks = marks.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    let owner = owner
    try await session { session throws(PostgreSQLError) -> Void in
      try session.run(Self.purges(at: now) + Self.writing(marks, owner.number, now))
    }
  }

  private static func writing(_ marks: [NewMark], _ owner: Int64, _ now: UnixTime) -> [PostgreSQLStatement] {
    let replaced = marks.flatMap { mark in mark.standing.replaced.map { (mark.key.bytes, $0) } }
    var statements: [PostgreSQLStatement] = []
    if !replaced.isEmpty {
      statements.append(
        PostgreSQLStatement(
          delete, [.byteArrays(replaced.map { $0.0 }), .integers(replaced.map { $0.1 })]))
    }
    // The last one of a message counts, as if each were written by itself.
    let last = Dictionary(marks.map { ($0.key, $0) }) { _, later in later }
    let rows = last.values.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    guard !rows.isEmpty else { return statements }
    statements.append(
      PostgreSQLStatement(
        insert,
        [
          .byteArrays(rows.map(\.key.bytes)), .integer(owner), .integers(rows.map { $0.isAlone ? 1 : 0 }),
          .integers(rows.map { $0.standing.isSuspect ? 1 : 0 }), .integers(rows.map { Int64($0.standing.deaths) }),
          .integers(rows.map { Int64($0.standing.begun) }), .integer(now.milliseconds),
        ]))
    return statements
  }

  private static let delete = """
    DELETE FROM mark_crash m USING unnest($1::bytea[], $2::bigint[]) AS k (message, owner)
    WHERE m.message = k.message AND m.owner = k.owner
    """
  private static let insert = """
    INSERT INTO mark_crash (message, owner, alone, suspect, deaths, begun, written_at)
    SELECT k.message, $2::bigint, k.alone <> 0, k.suspect <> 0, k.deaths, k.begun, $7::bigint
    FROM unnest($1::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
      AS k (message, alone, suspect, deaths, begun)
    ON CONFLICT (message, owner) DO UPDATE SET alone = excluded.alone, suspect = excluded.suspect,
      deaths = excluded.deaths, begun = excluded.begun, written_at = excluded.written_at
    """

  /// The table has few rows, so it needs no index on the time. What another process deletes is left to it.
  private static func purges(at now: UnixTime) -> [PostgreSQLStatement] {
    [
      PostgreSQLStatement(
        """
        DELETE FROM mark_crash WHERE (message, owner) IN (
          SELECT message, owner FROM mark_crash WHERE written_at < $1 FOR UPDATE SKIP LOCKED)
        """, [.integer((now - SQLiteMarkStore.retention).milliseconds)]),
      PostgreSQLStatement(
        """
        DELETE FROM mark_crash WHERE (message, owner) IN (
          SELECT message, owner FROM mark_crash ORDER BY written_at
          LIMIT greatest(0, (SELECT count(*) FROM mark_crash) - $1) FOR UPDATE SKIP LOCKED)
        """, [.integer(Int64(SQLiteMarkStore.maxRows))]),
    ]
  }

  public func relax(_ key: MessageKey) async throws(MarkError) {
    try await run(
      "UPDATE mark_crash SET alone = false WHERE message = $1 AND owner = $2", [.bytes(key.bytes)])
  }

  public func remove(_ keys: [MessageKey]) async throws(MarkError) {
    try await run(
      "DELETE FROM mark_crash WHERE message = ANY ($1::bytea[]) AND owner = $2",
      [.byteArrays(keys.map(\.bytes))])
  }

  public func giveBack(_ keys: [MessageKey]) async throws(MarkError) {
    try await run(
      Self.giveBack(adding: 1, where: "message = ANY ($1::bytea[]) AND owner = $2"),
      [.byteArrays(keys.map(\.bytes))])
  }

  public func release() async throws(MarkError) {
    let owner = owner
    try await session { session throws(PostgreSQLError) -> Void in
      let number = PostgreSQLValue.integer(owner.number)
      try session.run([
        PostgreSQLStatement("DELETE FROM mark_crash WHERE owner = $1 AND NOT suspect AND begun = 0", [number]),
        PostgreSQLStatement(Self.giveBack(adding: 0, where: "owner = $1"), [number]),
      ])
    }
  }

  /// Clears the owner of the marks and overwrites the previous state.
  private static func giveBack(adding begun: Int, where condition: String) -> String {
    """
    WITH mine AS (DELETE FROM mark_crash WHERE \(condition) RETURNING *)
    INSERT INTO mark_crash (message, owner, alone, suspect, deaths, begun, written_at)
    SELECT message, 0, false, suspect, deaths, begun + \(begun), written_at FROM mine ORDER BY message
    ON CONFLICT (message, owner) DO UPDATE SET suspect = excluded.suspect, deaths = excluded.deaths,
      begun = excluded.begun, written_at = excluded.written_at
    """
  }

  public func close() async {
    let owner = owner
    // The server would notice the end of the connection a little later; a session that fails here has ended already.
    await connection.close { session throws(PostgreSQLError) in try owner.end(session) }
  }

  // MARK: Sessions

  /// Runs a statement whose last value is the owner.
  private func run(_ sql: String, _ values: [PostgreSQLValue]) async throws(MarkError) {
    let owner = owner
    try await session { session throws(PostgreSQLError) -> Void in
      try session.run(sql, values + [.integer(owner.number)])
    }
  }

  private func session<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(PostgreSQLError) -> Value
  ) async throws(MarkError) -> Value {
    do throws(PostgreSQLError) {
      return try await connection.withSession(body)
    } catch {
      throw MarkError(error)
    }
  }
}

extension MarkError {
  /// Waiting helps unless the tables are missing or the configuration is wrong. A refused login may be temporary: the roles may
  /// not have been created yet.
  fileprivate init(_ error: PostgreSQLError) {
    self.init(error.description, isRetriable: ![.missingRelation, .misuse, .invalidURL].contains(error.code))
  }
}

/// The owner of a process's marks: the number of its session.
private final class MarkOwner: Sendable {
  static let owners = PostgreSQLOwners(sort: 1_668_509_035, sequence: "mark_owner_seq")

  private let current = Mutex<Int64>(0)

  var number: Int64 { current.withLock { $0 } }

  func begin(_ session: PostgreSQLSession) throws(PostgreSQLError) {
    try PostgreSQLSchema.check([MarkSchemaPostgreSQL.part], session)
    let number = try Self.owners.enroll(session)
    let former = self.number
    if former > 0 {
      try session.run("UPDATE mark_crash SET owner = $2 WHERE owner = $1", [.integer(former), .integer(number)])
    }
    current.withLock { $0 = number }
  }

  func end(_ session: PostgreSQLSession) throws(PostgreSQLError) { try Self.owners.end(number, session) }

  func state(of owner: Int64, isLiving: Bool) -> MarkRecord.Owner {
    if owner == 0 { return .nobody }
    if owner == number { return .ourselves }
    return isLiving ? .living : .dead
  }
}

/// The table of the marks in PostgreSQL.
public enum MarkSchemaPostgreSQL {
  /// `owner` is the number of a session that lives as long as it holds its lock. 0 when the mark was given back.
  public static let part = PostgreSQLSchemaPart(
    "marks",
    [
      """
      CREATE SEQUENCE mark_owner_seq MAXVALUE 2147483647 NO CYCLE;
      CREATE TABLE mark_crash (
        message bytea NOT NULL,
        owner integer NOT NULL,
        alone boolean NOT NULL,
        suspect boolean NOT NULL,
        deaths integer NOT NULL,
        begun integer NOT NULL,
        written_at bigint NOT NULL,
        PRIMARY KEY (message, owner)
      );
      COMMENT ON TABLE mark_crash IS
        'Redelivered messages that processes work on. A process lives as long as it holds the lock (1668509035, owner).';
      """
    ])
}
