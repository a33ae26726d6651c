public import CountersignTelemetry

/// No record: every redelivered job counts as begun, and ends as rule `unknown` says.
///
/// For workers whose effect is harmless twice, and for tests. A settled job whose result got lost is not recognized;
/// its second result may differ from the first one.
public struct NoLedger: Ledger {
  /// Creates it. There is nothing to open.
  public init() {}

  public var remembers: Bool { false }

  public func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, StoreError>] {
    entries.map { entry in
      switch entry {
      case .claim(let claim) where claim.redeliveries > 0:
        .success(.claim(.abandoned(lane: nil, unknownCalls: claim.redeliveries)))
      case .claim: .success(.claim(.claimed(unknownCalls: 0)))
      case .release, .postpone, .forget: .success(.done)
      case .settle: .success(.settled(standing: nil))
      }
    }
  }

  public func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(StoreError) -> LedgerPurgeStep {
    LedgerPurgeStep(forgotten: 0)
  }

  public func close() async {}
}
