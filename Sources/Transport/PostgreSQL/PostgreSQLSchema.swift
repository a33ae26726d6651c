public import CountersignTelemetry

/// Tables of one part of the program, as the scripts that make them, one for each version.
public struct PostgreSQLSchemaPart: Sendable, Hashable {
  /// Name of the part, `store`. The names of its tables and sequences begin with it or are told to the one who grants.
  public let name: String
  /// Script of each version, from 1: statements separated by semicolons. A released one is never changed.
  ///
  /// Each adds to what is there, and removes and renames nothing: processes of the version before go on beside those of
  /// the new one, on the tables of the new one. So an added column is nullable or has a default.
  public let scripts: [String]

  public init(_ name: String, _ scripts: [String]) {
    self.name = name
    self.scripts = scripts
  }

  /// The version that this program needs.
  public var version: Int { scripts.count }
}

/// The schema that holds all tables, and the versions of its parts.
public enum PostgreSQLSchema {
  /// Name of the schema.
  public static let name = "countersign"
  /// Key of the advisory lock that one update at a time holds.
  static let lock: Int64 = 0x636f_756e_7465_7230

  /// A script that ran.
  public struct Step: Sendable, Hashable {
    public let part: String
    public let version: Int
  }

  static let versionTable = """
    CREATE TABLE IF NOT EXISTS \(name).schema_version (
      part text COLLATE "C" PRIMARY KEY,
      version integer NOT NULL
    )
    """
  static let hasVersionTable = "SELECT to_regclass('\(name).schema_version') IS NOT NULL"
  static let allVersions = "SELECT part, version FROM \(name).schema_version"
  static let setVersion = """
    INSERT INTO \(name).schema_version (part, version) VALUES ($1, $2::bigint)
    ON CONFLICT (part) DO UPDATE SET version = excluded.version
    """

  /// Versions in the database by part. None where the tables were not made yet.
  public static func versions(_ session: PostgreSQLSession) throws(StoreError) -> [String: Int] {
    guard try session.run(hasVersionTable)[0].bool(0) else { return [:] }
    var versions: [String: Int] = [:]
    for row in try session.run(allVersions) { versions[try row.text(0)] = try row.int(1) }
    return versions
  }

  /// Checks that the database has the version that this program needs, or a later one, whose scripts added to it.
  /// - Throws: ``StoreError/Code/missingRelation`` with the remedy, for a start that cannot go on.
  public static func check(
    _ parts: [PostgreSQLSchemaPart], _ session: PostgreSQLSession
  ) throws(StoreError) {
    let versions = try versions(session)
    for part in parts {
      if let problem = problem(part, versions[part.name]) { throw StoreError(.schema, problem) }
    }
  }

  /// The remedy for a database that lacks tables, or has those of a version that this program cannot work on.
  public static func problem(_ part: PostgreSQLSchemaPart, _ found: Int?) -> String? {
    switch found {
    case nil:
      "the tables of '\(part.name)' are missing in the schema \(name): run 'countersign store create' as their owner"
    case let found? where found < part.version:
      "the tables of '\(part.name)' have version \(found), and this program needs \(part.version): run 'countersign store create' as their owner"
    default: nil
    }
  }

  /// Brings the parts to the version of this program. Needs a transaction, and the rights of the schema's owner.
  /// - Returns: the scripts that ran.
  /// - Throws: ``StoreError/Code/lockTimeout`` while another process does the same.
  public static func update(
    _ parts: [PostgreSQLSchemaPart], _ session: PostgreSQLSession
  ) throws(StoreError) -> [Step] {
    try session.run("SELECT pg_advisory_xact_lock($1)", [.integer(lock)])
    try session.run([PostgreSQLStatement(versionTable, isPrepared: false)])
    let versions = try versions(session)
    var steps: [Step] = []
    for part in parts {
      let found = max(0, versions[part.name] ?? 0)
      guard found <= part.version else {
        throw StoreError(
          .schema,
          "the tables of '\(part.name)' have version \(found), and this program knows \(part.version): run the newer program"
        )
      }
      for version in found..<part.version {
        try session.script(part.scripts[version])
        steps.append(Step(part: part.name, version: version + 1))
      }
      if found < part.version { try session.run(setVersion, [.text(part.name), .integer(Int64(part.version))]) }
    }
    return steps
  }

  /// The same as one text, for an administrator who runs it by hand.
  public static func script(of parts: [PostgreSQLSchemaPart]) -> String {
    let scripts = parts.map { part in
      """
      -- \(part.name), version \(part.version)
      \(part.scripts.joined(separator: "\n"))
      INSERT INTO schema_version (part, version) VALUES ('\(part.name)', \(part.version));
      """
    }
    return (["\(versionTable);"] + scripts).joined(separator: "\n\n")
  }
}
