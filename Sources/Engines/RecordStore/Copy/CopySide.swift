import SQLite

/// One of the two databases of a copy, which no process of a service has meanwhile.
protocol CopySide: Sendable {
  /// The service that the database belongs to. `nil` before any has used it.
  var kind: DatabaseKind? { get }
  var name: String { get }

  /// Rows of a table behind a key, in the order of their keys. The first ones for `nil`.
  func rows(of table: CopiedTable, behind key: [Value]?, limit: Int) async throws(StoreError) -> [[Value]]
  /// Key of the last row. `nil` for an empty table.
  func last(of table: CopiedTable) async throws(StoreError) -> [Value]?
  func count(_ table: CopiedTable) async throws(StoreError) -> Int

  func add(_ rows: [[Value]], to table: CopiedTable) async throws(StoreError)
  /// Deletes all rows, and sets the mark, in one transaction.
  func clear(_ mark: CopyMark) async throws(StoreError)
  /// Has new messages get numbers behind those that were copied.
  func advance() async throws(StoreError)

  func mark() async throws(StoreError) -> CopyMark?
  func setMark(_ mark: CopyMark?) async throws(StoreError)

  func close() async
}

/// A copy that has begun: both of its databases have the mark until it has ended.
struct CopyMark: Sendable, Hashable {
  let id: String
  /// Whether the database is the one that is written.
  let isTarget: Bool
  let other: String

  static let select = "SELECT id, target, other FROM store_copy"
}

extension StoreError {
  /// Reason for a service not to start on a database that holds a part of another one. `nil` without one.
  static func isPart(_ mark: CopyMark?) -> StoreError? {
    guard let mark, mark.isTarget else { return nil }
    return StoreError(
      .schema,
      "the database holds a part of \(mark.other), whose copy was interrupted: run 'countersign store copy' again")
  }
}
