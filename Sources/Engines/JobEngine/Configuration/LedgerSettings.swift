public import ServiceRuntime

/// The section `ledger`: the record of calls, which all workers of one kind on a host share, or on all hosts.
public struct LedgerSettings: Sendable, Hashable {
  /// Storage of the record.
  public enum Kind: String, Sendable, CaseIterable {
    /// An SQLite file.
    case sqlite
    /// A PostgreSQL database, which the workers of all hosts share.
    case postgresql
    /// No record: a redelivered job counts as begun.
    case none
  }

  /// Durability of a commit.
  public enum Synchronous: String, Sendable, CaseIterable {
    /// Survives the loss of power: a commit waits for the disk.
    case full
    /// Survives the death of the process: a commit waits for the system.
    case normal
  }

  public let kind: Kind
  public let path: String
  public let synchronous: Synchronous
  /// Time for which a result is kept after the deadline of its job, for a redelivered job.
  public let retention: Duration
  /// Time by which a claim outlives the time-out of its call: see ``JobRules/leaseMargin``.
  public let leaseMargin: Duration
  /// The database of `postgresql`, and `nil` with other types.
  public let postgresql: PostgreSQLSettings?
  /// Maximum size in bytes of the file, or of the table.
  public let maxBytes: Int64

  /// Reads the section. Problems are reported to it.
  ///
  /// - Parameter path: the file's name when the configuration has none.
  public init(_ section: ConfigurationSection, path defaultPath: String) {
    kind = section.word(
      "type", default: .sqlite,
      "sqlite: in a file that the workers of this host share; postgresql: in a database that all hosts share; none: nowhere."
    )
    path = section.path("path", default: defaultPath, "The file, with type sqlite.")
    synchronous = section.word(
      "synchronous", default: .full,
      "full: a commit waits for the disk; normal: a loss of power may undo the last ones. With type sqlite.")
    postgresql = PostgreSQLSettings.read(section, isUsed: kind == .postgresql)
    retention = .seconds(
      3600
        * section.integer(
          "retentionHours", default: 6, in: 2...8760,
          "How long a result is kept after the deadline of its job, for a job delivered again."))
    leaseMargin = section.seconds(
      "leaseMarginSeconds", default: JobRules().leaseMargin, in: JobRules.leaseMargins,
      "Time after the time-out of a call in which no other worker takes its job, should this one have died.")
    maxBytes =
      1_048_576
      * Int64(
        section.integer(
          "maxMegabytes", default: 8192, in: 64...1_048_576,
          "Maximum size of the file or table in MiB; beyond it the oldest results are forgotten early."))
  }
}
