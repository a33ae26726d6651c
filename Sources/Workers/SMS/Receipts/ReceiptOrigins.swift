import CountersignTelemetry
import JobEngine

/// Says whose message a receipt is about that came on a provider's own connection: the session knows it of what it sent itself; of what was
/// sent before a restart, or by another worker of this host, the ledger does.
struct ReceiptOrigins: Sendable {
  let ledger: any Ledger
  let log: ThrottledLog

  /// - Returns: nil when nobody here knows.
  /// - Throws: when the ledger cannot say it now and may be able to later: the provider shall report again then. What a broken ledger
  ///   never will say is told without.
  func subject(of receipt: DeliveryReceipt) async throws(LedgerError) -> CallbackAddresses.Subject? {
    if let job = receipt.job {
      return CallbackAddresses.Subject(job: job, correlationID: receipt.correlationID)
    }
    do {
      let job = try await ledger.job(matching: LedgerMatch(lane: receipt.lane, reference: receipt.reference))
      return job.map { CallbackAddresses.Subject(job: $0.job, correlationID: $0.correlationID) }
    } catch {
      log.warning(
        "the ledger cannot say whose message a receipt is about", [.error: error.description])
      if error.isRetriable { throw error }
      return nil
    }
  }

  func close() async { await ledger.close() }
}
