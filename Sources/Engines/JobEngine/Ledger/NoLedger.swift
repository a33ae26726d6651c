public import CountersignTelemetry

/// No record: every redelivered job counts as begun, and ends as rule `unknown` says.
///
/// For workers whose effect is harmless twice, and for tests. A settled job whose result got lost is not recognized;
/// its second result may differ from the first one.
public struct NoLedger: Ledger {
  /// Creates it; there is nothing to open.
  public init() {}

  public var remembers: Bool { false }

  public func claim(_ claim: LedgerClaim) async throws(LedgerError) -> ClaimAnswer {
    claim.redeliveries > 0 ? .abandoned(lane: nil, unknownCalls: claim.redeliveries) : .claimed(unknownCalls: 0)
  }

  public func release(_ claim: LedgerClaim) async throws(LedgerError) {}

  public func postpone(_ claim: LedgerClaim) async throws(LedgerError) {}

  public func settle(
    _ claim: LedgerClaim, result: [UInt8], at time: UnixTime
  ) async throws(LedgerError) -> [UInt8]? { nil }

  public func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(LedgerError) -> LedgerPurgeStep {
    LedgerPurgeStep(forgotten: 0)
  }

  public func close() async {}
}
