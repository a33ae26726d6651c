/// A step from one version of a database's schema to the next.
///
/// Once released, a migration is never changed: files exist that it has made.
public struct Migration: Sendable {
  /// The version the file has afterwards (`PRAGMA user_version`): 1, 2, 3 … without a gap.
  public var version: Int
  /// One or more statements, separated by semicolons, without transaction control.
  public var sql: String

  /// - Parameters:
  ///   - version: the version the file has afterwards, from 1.
  ///   - sql: the statements that lead there from the version before.
  public init(version: Int, sql: String) {
    self.version = version
    self.sql = sql
  }
}
