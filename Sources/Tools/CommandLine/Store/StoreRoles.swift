import PostgreSQL

/// Roles of the server that use the tables: their owner, and the two sorts of processes.
struct StoreRoles: Sendable, Hashable {
  /// Owns schema and tables, and has no login. The processes cannot change tables.
  var owner = "countersign_owner"
  /// User of the coordinators.
  var coordinator = "countersign_coordinator"
  /// User of the workers, who learn nothing about verifications.
  var worker = "countersign_worker"

  /// Beginnings of the names of the tables and sequences that a role writes to.
  static let coordinatorParts = ["store_", "mark_"]
  static let workerParts = ["ledger_", "suppression", "push_", "mark_"]

  /// Name that needs no quotes in SQL, of at most 63 bytes.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 63 else { return false }
    let isLetter = { (byte: UInt8) in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
    }
    return isLetter(first)
      && text.utf8.allSatisfy { isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// Makes a role.
  static func create(_ name: String, hasLogin: Bool) -> String {
    "CREATE ROLE \(name) \(hasLogin ? "LOGIN" : "NOLOGIN")"
  }

  /// Lets the processes find the tables, and read and write theirs. Run by the owner, after the tables were made.
  var grants: [String] {
    let schema = PostgreSQLSchema.name
    return [
      "GRANT USAGE ON SCHEMA \(schema) TO \(coordinator), \(worker)",
      "GRANT SELECT ON \(schema).schema_version TO \(coordinator), \(worker)",
      Self.grant(Self.coordinatorParts, to: coordinator), Self.grant(Self.workerParts, to: worker),
    ]
  }

  private static func grant(_ parts: [String], to role: String) -> String {
    """
    DO $do$
    DECLARE part record;
    BEGIN
      FOR part IN
        SELECT c.oid::regclass AS name, c.relkind AS kind FROM pg_class c
        WHERE c.relnamespace = '\(PostgreSQLSchema.name)'::regnamespace AND c.relkind IN ('r', 'p', 'S')
          AND c.relname ~ '^(\(parts.joined(separator: "|")))'
      LOOP
        IF part.kind = 'S' THEN
          EXECUTE format('GRANT USAGE ON SEQUENCE %s TO \(role)', part.name);
        ELSE
          EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE %s TO \(role)', part.name);
        END IF;
      END LOOP;
    END
    $do$
    """
  }
}
