public import CountersignTelemetry

/// Size of a ledger.
public struct LedgerSize: Sendable, Hashable {
  /// Bytes of the file.
  public var fileBytes: Int64
  /// Bytes in use. The others are used before the file grows.
  public var usedBytes: Int64
  /// Last write of the oldest remembered job. `nil` when there is none.
  public var oldest: UnixTime?

  var freeBytes: Int64 { fileBytes - usedBytes }
}

/// Result of one step through the jobs of a ledger.
public struct LedgerPurgeStep: Sendable, Hashable {
  /// Number of jobs that were forgotten.
  public var forgotten: Int
  /// Start of the next step. `nil` at the end.
  public var next: Int64?
}
