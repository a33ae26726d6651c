public import PostgreSQL
public import RecordStore
public import SQLite
public import ServiceRuntime

/// A section that names the place of a worker's records: a file of the host, or the ledger's database.
public struct TableSettings: Sendable, Hashable {
  private enum Kind: String, CaseIterable {
    case sqlite
    case postgresql
  }

  private let name: String
  private let path: String
  private let postgresql: PostgreSQLSettings?

  /// Reads the section. Problems are reported to it.
  ///
  /// - Parameters:
  ///   - section: the section.
  ///   - name: its name.
  ///   - ledger: the ledger, whose database the records may be in.
  ///   - path: the file's name when the configuration has none.
  ///   - help: explanation of the file.
  public init(
    _ section: ConfigurationSection, _ name: String, ledger: LedgerSettings, path defaultPath: String, _ help: String
  ) {
    self.name = name
    let kind: Kind = section.word(
      "type", default: ledger.kind == .postgresql ? .postgresql : .sqlite,
      "sqlite: in a file that the workers of this host share; postgresql: in the ledger's database. As the ledger if absent."
    )
    path = section.path("path", default: defaultPath, help)
    section.check(
      "type", kind == .sqlite || ledger.kind == .postgresql,
      "is the database of the ledger, which has none: set ledger.type to postgresql, or this to sqlite")
    postgresql = kind == .postgresql ? ledger.postgresql : nil
  }

  /// Tables that have to be in the ledger's database.
  public var parts: [PostgreSQLSchemaPart] { postgresql == nil ? [] : [RecordPlace.workers.part] }

  /// Opens the table in its file, which is created if necessary, or in the ledger's database.
  ///
  /// - Parameter kind: the kind of the file.
  /// - Throws: `.storeUnavailable` or `.tablesMissing`, with a problem that the operator has to fix.
  public func open(of kind: DatabaseKind) async throws(WorkerError) -> RecordTable {
    do throws(StoreError) {
      guard let postgresql else { return try await RecordTable.open(path: path, of: kind) }
      return try await RecordTable.open(postgresql.endpoint, options: postgresql.options, at: .workers)
    } catch {
      throw WorkerError(.storeUnavailable, postgresql == nil ? "\(name).path" : "\(name) in ledger.url", error)
    }
  }
}
