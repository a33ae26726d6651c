import Telemetry

/// Forgets old jobs, a bounded number at a time, so that the ledger's file stays small and jobs never wait for it.
struct LedgerPurge: Sendable {
  /// Jobs forgotten in one transaction.
  static let batch = 500
  /// The pause between rounds.
  static let interval: Duration = .seconds(30)
  /// Transactions in one round.
  static let maximumBatches = 200

  let parts: WorkerParts

  /// Runs until the worker stops.
  func run() async {
    while await parts.timers.sleep(until: parts.monotonic.now() + Self.interval) {
      await purge()
    }
  }

  private func purge() async {
    let horizon = parts.clock.now() - parts.options.retention
    for _ in 0..<Self.maximumBatches where !parts.isDraining {
      do throws(LedgerError) {
        if try await parts.ledger.purge(before: horizon, limit: Self.batch) < Self.batch { return }
      } catch {
        parts.alarms.warning("ledger cannot be purged", [.error: error.description])
        return
      }
    }
  }
}
