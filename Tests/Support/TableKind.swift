package import RecordStore
package import SQLite

/// Places of a table of records that the tests of its users run on.
package enum TableKind: String, CaseIterable, Sendable {
  case sqlite, postgresql

  /// Lends what opens one more table in the same place, which is empty at first.
  /// - Parameters:
  ///   - place: the table on a server.
  ///   - kind: the kind of the file.
  ///   - hasOwners: whether records may belong to who opened the table.
  package func with(
    _ place: RecordPlace, of kind: DatabaseKind, hasOwners: Bool = false,
    _ body: (@escaping @Sendable () async throws -> RecordTable) async throws -> Void
  ) async throws {
    switch self {
    case .sqlite:
      try await withTemporaryDirectory { directory in
        let path = directory + "/records.sqlite"
        try await body { try await RecordTable.open(path: path, of: kind, hasOwners: hasOwners) }
      }
    case .postgresql:
      try await PrivatePostgreSQL.admit {
        let database = try await PrivatePostgreSQL.shared.database(with: [place.part])
        try await body { try await RecordTable.open(database, at: place) }
      }
    }
  }
}
