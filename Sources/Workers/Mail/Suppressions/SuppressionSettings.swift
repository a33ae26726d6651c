public import JobEngine
public import ServiceRuntime

/// Section `suppressions`: the place of the ``SuppressionList``.
public struct SuppressionSettings: Sendable, Hashable {
  /// Storage of the list.
  enum Kind: String, Sendable, CaseIterable {
    case sqlite
    case postgresql
  }

  /// The file.
  public let path: String
  /// The database, and `nil` for the file.
  public let postgresql: PostgreSQLSettings?

  /// Reads the section. Problems are reported to it.
  ///
  /// - Parameter ledger: the ledger, whose database the list may be in.
  public init(_ section: ConfigurationSection, ledger: LedgerSettings) {
    let kind: Kind = section.word(
      "type", default: ledger.kind == .postgresql ? .postgresql : .sqlite,
      "sqlite: in a file that the workers of this host share; postgresql: in the ledger's database. As the ledger if absent."
    )
    path = section.path("path", default: "mail-suppressions.sqlite", "The file of the addresses that get no mail.")
    section.check(
      "type", kind == .sqlite || ledger.kind == .postgresql,
      "is the database of the ledger, which has none: set ledger.type to postgresql, or this to sqlite")
    postgresql = kind == .postgresql ? ledger.postgresql : nil
  }
}
