import CountersignTelemetry

/// Works a bounded piece at a time, so that jobs never wait for it.
struct LedgerPurge: Sendable {
  /// Jobs deleted in one transaction: a few milliseconds.
  static let batch = 1000
  static let interval: Duration = .seconds(30)
  /// Transactions in one round: 13,000 jobs a second, three times the fastest rate of one worker.
  static let maxBatches = 400
  /// Free space is kept for further jobs. Free space beyond this fraction of the file, and beyond these bytes, is
  /// returned.
  static let spareShare: Int64 = 4
  static let spareBytes: Int64 = 16 << 20
  /// Pages of 4 KiB returned in one transaction.
  static let shrinkPages = 256
  /// Size to which a file above its bound is reduced, in tenths of the bound.
  static let targetTenths: Int64 = 9

  let context: WorkerContext
  /// Start of the next round: a bounded round does not begin again with the rows it has seen.
  private var next: Int64 = 0

  init(context: WorkerContext) {
    self.context = context
  }

  mutating func run() async {
    while await context.timers.sleep(until: context.monotonic.now() + Self.interval) {
      do throws(StoreError) {
        try await round()
      } catch {
        context.alarms.warning("ledger cannot be purged", [.error: error.description])
      }
    }
  }

  private mutating func round() async throws(StoreError) {
    try await purge()
    guard var size = try await context.ledger.size() else { return }
    if size.usedBytes > context.options.maxLedgerBytes { size = try await forgetOldest(size) }
    if size.freeBytes > max(size.fileBytes / Self.spareShare, Self.spareBytes) { size = try await shrink(size) }
    context.metrics.ledger(size, now: context.clock.now())
  }

  private mutating func purge() async throws(StoreError) {
    let now = context.clock.now()
    for _ in 0..<Self.maxBatches where !context.isDraining {
      let step = try await context.ledger.purge(at: now, from: next, limit: Self.batch)
      next = step.next ?? 0
      if step.next == nil { return }
    }
  }

  /// The bound takes precedence over the retention: a full disk would stop every worker of the host, while a forgotten
  /// job is repeated only if the broker still delivers it.
  private func forgetOldest(_ size: LedgerSize) async throws(StoreError) -> LedgerSize {
    var size = size
    var forgotten = 0
    let target = context.options.maxLedgerBytes / 10 * Self.targetTenths
    for _ in 0..<Self.maxBatches where !context.isDraining && size.usedBytes > target {
      let count = try await context.ledger.forgetOldest(limit: Self.batch)
      forgotten += count
      guard count > 0, let now = try await context.ledger.size() else { break }
      size = now
    }
    context.metrics.ledgerForgotten.increment(by: UInt64(forgotten))
    context.alarms.error(
      "the ledger has reached its size limit; the oldest jobs are forgotten early",
      [.count: forgotten, .hint: "raise ledger.maxMegabytes, or lower ledger.retentionHours"])
    return size
  }

  private func shrink(_ size: LedgerSize) async throws(StoreError) -> LedgerSize {
    var size = size
    for _ in 0..<Self.maxBatches
    where !context.isDraining && size.freeBytes > max(size.fileBytes / Self.spareShare, Self.spareBytes) / 2 {
      try await context.ledger.shrink(pages: Self.shrinkPages)
      guard let now = try await context.ledger.size(), now.fileBytes < size.fileBytes else { break }
      size = now
    }
    return size
  }
}
