public import ServiceRuntime

/// The section `ledger`: the record of what was sent, which all workers of one kind on a host share.
public struct LedgerSettings: Sendable, Hashable {
  /// Where the record is kept.
  public enum Kind: String, Sendable, CaseIterable {
    /// In an SQLite file.
    case sqlite
    /// Nowhere: a job that is delivered again counts as begun.
    case none
  }

  /// How much a commit waits for.
  public enum Synchronous: String, Sendable, CaseIterable {
    /// For the disk: survives the loss of power.
    case full
    /// For the system: survives the death of the process.
    case normal
  }

  public let kind: Kind
  public let path: String
  public let synchronous: Synchronous
  /// Time for which a result is kept after the deadline of its job, for a job that is delivered again.
  public let retention: Duration
  /// Number of bytes that the file may hold.
  public let maximumBytes: Int64

  /// Reads the section. Problems are reported to it.
  ///
  /// - Parameter path: The file's name when the configuration has none.
  public init(_ section: ConfigurationSection, path defaultPath: String) {
    kind = section.word(
      "type", default: .sqlite, "sqlite: in a file that the workers of this host share; none: nowhere.")
    path = section.path("path", default: defaultPath, "The file.")
    synchronous = section.word(
      "synchronous", default: .full,
      "full: a commit waits for the disk; normal: a loss of power may undo the last ones.")
    retention = .seconds(
      3600
        * section.integer(
          "retentionHours", default: 6, in: 2...8760,
          "How long a result is kept after the deadline of its job, for a job delivered again."))
    maximumBytes =
      1_048_576
      * Int64(
        section.integer(
          "maxMegabytes", default: 8192, in: 64...1_048_576,
          "How many MiB the file may hold; then the oldest results are forgotten before their time."))
  }
}
