import CountersignTelemetry

/// Settings and limits of a database.
public struct DatabaseOptions: Sendable {
  /// Durability of a commit.
  public enum Synchronous: String, Sendable {
    /// A commit is on the disk before it is reported: it survives the loss of power.
    case full = "FULL"
    /// A commit survives the death of the process, but the last ones may be lost with the power. Never a torn file.
    case normal = "NORMAL"
  }

  /// Default: full. Groups make it affordable.
  public var synchronous = Synchronous.full

  /// Maximum time that a group waits for other writing processes before it fails with ``StoreError/Code/busy``.
  /// Waiting for a turn may add a quarter of it. Default: 5 s.
  public var busyTimeout = Duration.seconds(5)

  /// The largest number of bodies in one transaction. Default: 256.
  public var maxBatch = 256

  /// Time after which a group is committed even if more bodies wait. Bounds the waits of other processes. Default: 50
  /// ms.
  public var maxGroupTime = Duration.milliseconds(50)

  /// Maximum waiting bodies, writes and reads each. One more fails at once with ``StoreError/Code/overloaded``.
  /// Default: 65,536.
  public var maxWaiting = 65_536

  /// The number of connections that read, 1...8. Default: 1. Each costs a file handle and up to `cacheKiB`.
  public var readers = 1

  /// The page cache of each connection, in KiB. Default: 4,096.
  public var cacheKiB = 4_096

  /// Prepared statements kept by each connection. The one unused for longest makes room. Default: 128.
  public var maxStatements = 128

  /// Pages (4 KiB each) of the write-ahead log after which it is copied to the database. Default: 4,000, which is 16
  /// MiB.
  public var checkpointPages = 4_000

  /// Pages of the write-ahead log from which writers wait for readers until it starts anew. Default: 16,000, which is
  /// 64 MiB.
  public var maxLogPages = 16_000

  /// Whether room that holds nothing can be given back to the file system, page by page (`PRAGMA incremental_vacuum`).
  /// A file that was made without it is rewritten when it is opened, if it is small enough. Default: false.
  public var isShrinkable = false

  public init() {}

  /// Options that differ from the defaults in how safe a commit is.
  public init(synchronous: Synchronous) {
    self.synchronous = synchronous
  }
}

extension DatabaseOptions {
  func check() throws(StoreError) {
    try require(maxBatch >= 1, "maxBatch must be at least 1")
    try require(maxWaiting >= maxBatch, "maxWaiting must not be below maxBatch")
    try require((1...8).contains(readers), "readers must be within 1...8")
    try require((64...1_048_576).contains(cacheKiB), "cacheKiB must be within 64...1,048,576")
    try require(maxStatements >= 8, "maxStatements must be at least 8")
    try require(checkpointPages >= 1 && maxLogPages > checkpointPages, "maxLogPages must be above checkpointPages")
    try require(busyTimeout >= .zero && busyTimeout <= .seconds(300), "busyTimeout must be within 0...300 s")
  }

  private func require(_ condition: Bool, _ message: String) throws(StoreError) {
    if !condition { throw StoreError(.misuse, "database options: \(message)") }
  }
}
