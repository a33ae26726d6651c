import PostgreSQL

struct StoreRoles: Sendable, Hashable {
  /// Owns schema and tables, and has no login. The processes cannot change tables.
  var owner = "countersign_owner"
  /// User of the stateful service: of the coordinators, or of accounts.
  var service = "countersign_coordinator"
  /// User of the workers, who learn nothing about verifications. `nil` in a database that they do not use.
  var worker: String? = "countersign_worker"

  static let accounts = StoreRoles(service: "countersign_accounts", worker: nil)

  var users: [String] { [service] + (worker.map { [$0] } ?? []) }

  /// Beginnings of the names of the tables and sequences that a role writes to.
  static let serviceParts = ["store_", "mark_"]
  static let workerParts = ["ledger_", "worker_", "mark_"]

  /// Name that needs no quotes in SQL, of at most 63 bytes.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 63 else { return false }
    let isLetter = { (byte: UInt8) in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
    }
    return isLetter(first)
      && text.utf8.allSatisfy { isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  static func create(_ name: String, hasLogin: Bool) -> String {
    "CREATE ROLE \(name) \(hasLogin ? "LOGIN" : "NOLOGIN")"
  }

  /// Run by the owner, after the tables were made.
  var grants: [String] {
    let schema = PostgreSQLSchema.name
    let users = users.joined(separator: ", ")
    return [
      "GRANT USAGE ON SCHEMA \(schema) TO \(users)", "GRANT SELECT ON \(schema).schema_version TO \(users)",
      Self.grant(Self.serviceParts, to: service),
    ] + (worker.map { [Self.grant(Self.workerParts, to: $0)] } ?? [])
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
          EXECUTE format('GRANT USAGE, SELECT, UPDATE ON SEQUENCE %s TO \(role)', part.name);
        ELSE
          EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE %s TO \(role)', part.name);
        END IF;
      END LOOP;
    END
    $do$
    """
  }
}
