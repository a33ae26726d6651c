public import CountersignTelemetry

/// Numbers under which sessions own rows, and whose death other sessions can tell.
///
/// A number is never used twice, and its session holds an advisory lock on it. The server releases the lock when the
/// session ends, however it ends, and finds a dead host by the keepalive of TCP.
public struct PostgreSQLOwners: Sendable, Hashable {
  /// First key of the locks: one number for each sort of owner, above 0.
  public let sort: Int32
  /// Sequence of the numbers, which ends below 2^31.
  public let sequence: String

  public init(sort: Int32, sequence: String) {
    self.sort = sort
    self.sequence = sequence
  }

  /// Takes a new number and its lock.
  public func enroll(_ session: PostgreSQLSession) throws(StoreError) -> Int64 {
    let rows = try session.run(
      """
      WITH owner AS MATERIALIZED (SELECT nextval('\(sequence)') AS number)
      SELECT number, pg_try_advisory_lock(\(sort), number::integer) FROM owner
      """)
    guard try rows[0].bool(1) else {
      throw StoreError(.unexpectedResult, "another session holds the lock of a new number of \(sequence)")
    }
    return Int64(try rows[0].int(0))
  }

  /// Gives the lock up: from now on, the owner is dead to others.
  public func end(_ number: Int64, _ session: PostgreSQLSession) throws(StoreError) {
    try session.run("SELECT pg_advisory_unlock(\(sort), $1::bigint::integer)", [.integer(number)])
  }

  /// SQL for the array of the numbers whose sessions live. A look; ``claim(_:)`` decides.
  public var living: String {
    """
    ARRAY(
      SELECT l.objid::bigint FROM pg_locks l
      WHERE l.locktype = 'advisory' AND l.classid = \(sort) AND l.objsubid = 2 AND l.granted
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
    """
  }

  /// SQL for whether an owner is dead. If so, no other session finds it so until the end of the transaction.
  /// - Parameter number: an expression for its number.
  public func claim(_ number: String) -> String { "pg_try_advisory_xact_lock(\(sort), \(number))" }
}
