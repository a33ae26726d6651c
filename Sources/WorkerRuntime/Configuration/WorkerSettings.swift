public import ServiceRuntime

/// What every worker's configuration has beside its lanes.
public struct WorkerSettings: Sendable, Hashable {
  /// Jobs taken from the queue ahead.
  public let prefetch: Int
  /// The record of what was done.
  public let ledger: LedgerSettings
  /// How often a job whose outcome is unknown is carried out again, when it allows that.
  public let maxUnknownResends: Int

  /// Reads `prefetch`, `ledger` and `maxUnknownResends`. Problems are reported to the section.
  ///
  /// - Parameters:
  ///   - section: The worker's own section.
  ///   - ledgerPath: The ledger's file when the configuration names none.
  public init(_ section: ConfigurationSection, ledgerPath: String) {
    prefetch = section.integer(
      "prefetch", default: 512, in: 1...65_535,
      "Jobs taken from the queue ahead; two to three times the sum of concurrency.")
    ledger = LedgerSettings(section.section("ledger"), path: ledgerPath)
    maxUnknownResends = section.integer(
      "maxUnknownResends", default: 2, in: 0...10,
      "How often a job whose outcome is unknown is carried out again, when its onUnknown is resend.")
  }

  /// Warns when lanes would never be full.
  public func checkPrefetch(for lanes: [LaneConfiguration], _ section: ConfigurationSection) {
    let slots = lanes.map(\.concurrency).reduce(0, +)
    if prefetch < slots {
      section.warning(
        "prefetch", "is less than the sum of the lanes' concurrency, \(slots): some of their slots stay empty")
    }
  }
}
