import CountersignTelemetry

/// Keeps the ledger small: forgets jobs that cannot come again, gives the room of many back, and bounds the file, a bounded piece at a
/// time, so that jobs never wait for it.
struct LedgerPurge: Sendable {
  /// Jobs looked at in one transaction: a few milliseconds.
  static let batch = 1000
  /// The pause between rounds.
  static let interval: Duration = .seconds(30)
  /// Transactions in one round: 13,000 jobs a second, three times what one worker writes at its fastest.
  static let maximumBatches = 400
  /// Room in the file is kept for the jobs to come; what is beyond this part of the file, and this many bytes, is given back.
  static let spareShare: Int64 = 4
  static let spareBytes: Int64 = 16 << 20
  /// Pages of 4 KiB given back in one transaction.
  static let shrinkPages = 256
  /// A file that reached its bound is brought back to this part of it, in tenths.
  static let targetTenths: Int64 = 9

  let parts: WorkerParts
  /// Start of the next round: one that was bounded does not begin again with what it has seen.
  private var next: Int64 = 0

  init(parts: WorkerParts) {
    self.parts = parts
  }

  /// Runs until the worker stops.
  mutating func run() async {
    while await parts.timers.sleep(until: parts.monotonic.now() + Self.interval) {
      do throws(LedgerError) {
        try await round()
      } catch {
        parts.alarms.warning("ledger cannot be purged", [.error: error.description])
      }
    }
  }

  private mutating func round() async throws(LedgerError) {
    try await purge()
    guard var size = try await parts.ledger.size() else { return }
    if size.usedBytes > parts.options.maximumLedgerBytes { size = try await forgetOldest(size) }
    if size.freeBytes > max(size.fileBytes / Self.spareShare, Self.spareBytes) { size = try await shrink(size) }
    parts.metrics.ledger(size, now: parts.clock.now())
  }

  private mutating func purge() async throws(LedgerError) {
    let now = parts.clock.now()
    for _ in 0..<Self.maximumBatches where !parts.isDraining {
      let step = try await parts.ledger.purge(at: now, from: next, limit: Self.batch)
      next = step.next ?? 0
      if step.next == nil { return }
    }
  }

  /// The bound comes before the time that jobs should be remembered for: a full disk would stop every worker of the host, while a job
  /// that was forgotten is carried out again only if the broker still delivers it.
  private func forgetOldest(_ size: LedgerSize) async throws(LedgerError) -> LedgerSize {
    var size = size
    var forgotten = 0
    let target = parts.options.maximumLedgerBytes / 10 * Self.targetTenths
    for _ in 0..<Self.maximumBatches where !parts.isDraining && size.usedBytes > target {
      let count = try await parts.ledger.forgetOldest(limit: Self.batch)
      forgotten += count
      guard count > 0, let now = try await parts.ledger.size() else { break }
      size = now
    }
    parts.metrics.ledgerForgotten.increment(by: UInt64(forgotten))
    parts.alarms.error(
      "the ledger has reached its bound; the oldest jobs are forgotten before their time",
      [.count: forgotten, .mend: "raise ledger.maxMegabytes, or lower ledger.retentionHours"])
    return size
  }

  private func shrink(_ size: LedgerSize) async throws(LedgerError) -> LedgerSize {
    var size = size
    for _ in 0..<Self.maximumBatches
    where !parts.isDraining && size.freeBytes > max(size.fileBytes / Self.spareShare, Self.spareBytes) / 2 {
      try await parts.ledger.shrink(pages: Self.shrinkPages)
      guard let now = try await parts.ledger.size(), now.fileBytes < size.fileBytes else { break }
      size = now
    }
    return size
  }
}
