public import CountersignTelemetry
import PostgreSQL
public import RecordStore
import ServiceRuntime

extension PostgreSQLStore: MemberRegister {
  /// One entry at a time. A key of one number, apart from those of two that owners have.
  private static let lock = "SELECT pg_advisory_xact_lock(1668510581)"
  /// The latest first: dead ones must not hide the living.
  static let members = """
    SELECT name, owner = $1, owner = ANY (\(StoreOwner.owners.living)), admitted,
      (extract(epoch FROM now() - seen) * 1000)::bigint, secrets, projects
    FROM store_member ORDER BY owner DESC LIMIT 1000
    """
  static let enter = """
    INSERT INTO store_member (owner, admitted, secrets, projects) VALUES ($1, $2::bigint <> 0, $3, $4)
    ON CONFLICT (owner) DO UPDATE SET
      admitted = excluded.admitted, seen = now(), secrets = excluded.secrets, projects = excluded.projects
    """
  /// Of the dead the last ones are kept, whose pepper binds for a while.
  static let forgetMembers = """
    DELETE FROM store_member WHERE owner <> ALL (\(StoreOwner.owners.living))
      AND (seen < now() - interval '\(Member.memory.components.seconds) s' OR NOT admitted)
    """

  public func enroll(_ decide: @escaping @Sendable ([Member]) -> Member.Entry?) async throws(StoreError) {
    let owner = owner
    try await change { session throws(StoreError) in
      let own = PostgreSQLValue.integer(owner.current.number)
      // Most rounds write nothing, and must not wait for a member that is frozen with the lock.
      guard decide(try session.rows(Self.members, [own], Self.member)) != nil else { return }
      try session.run([PostgreSQLStatement(Self.lock)])
      let members = try session.rows(Self.members, [own], Self.member)
      guard let entry = decide(members) else { return }
      try session.run([
        PostgreSQLStatement(
          Self.enter,
          [own, .integer(entry.isAdmitted ? 1 : 0), .text(entry.secrets.text), .text(entry.projects)]),
        PostgreSQLStatement(Self.forgetMembers),
      ])
    }
  }

  private static func member(_ row: PostgreSQLRow) throws(StoreError) -> Member {
    Member(
      name: try row.text(0), isSelf: try row.bool(1), isLiving: try row.bool(2), isAdmitted: try row.bool(3),
      age: .milliseconds(max(0, try row.int(4))), secrets: [CheckValue](text: try row.text(5)),
      projects: try row.text(6))
  }
}
