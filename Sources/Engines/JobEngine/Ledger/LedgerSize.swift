public import CountersignTelemetry

/// Size of a ledger.
public struct LedgerSize: Sendable, Hashable {
  /// Bytes of the file.
  public var fileBytes: Int64
  /// Bytes of it that hold something; the others are used before the file grows.
  public var usedBytes: Int64
  /// When the oldest job that it remembers was last written; nil when it remembers none.
  public var oldest: UnixTime?

  /// Bytes of the file that hold nothing.
  var freeBytes: Int64 { fileBytes - usedBytes }
}

/// Result of one step through the jobs of a ledger.
public struct LedgerPurgeStep: Sendable, Hashable {
  /// Number of jobs that were forgotten.
  public var forgotten: Int
  /// Start of the next step; nil at the end.
  public var next: Int64?
}
