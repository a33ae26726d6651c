public import ServiceRuntime

/// Configuration that every worker has in addition to its lanes.
public struct WorkerSettings: Sendable, Hashable {
  /// Default of the prefetch, as a multiple of the lanes' concurrency: enough that no slot waits for the broker, and
  /// few enough that no job waits here that another worker could begin.
  static let prefetchPerSlot = 3
  /// The same where workers of several hosts have ledgers of their own: a job that is only prefetched when a connection
  /// is lost counts as begun.
  static let prefetchPerSlotOfSeveralHosts = 2

  /// Hosts whose workers consume a queue.
  public enum Consumers: String, Sendable, CaseIterable {
    /// One host, whose workers share a ledger.
    case oneHost
    /// Several hosts, each with a ledger of its own.
    case severalHosts
  }

  /// Jobs taken from the queue ahead. `nil` follows the lanes' concurrency.
  public let prefetch: Int?
  /// Hosts whose workers consume the queue. With a ledger that all hosts share they are as one.
  public let consumers: Consumers
  /// The record of calls.
  public let ledger: LedgerSettings
  /// Maximum repetitions of a job whose outcome is unknown, when it allows them.
  public let maxUnknownResends: Int

  /// Reads `prefetch`, `ledger` and `maxUnknownResends`. Problems are reported to the section.
  ///
  /// - Parameters:
  ///   - section: the worker's own section.
  ///   - ledgerPath: the ledger's file when the configuration names none.
  public init(_ section: ConfigurationSection, ledgerPath: String) {
    prefetch = section.optionalInteger(
      "prefetch", in: 1...65_535,
      "Jobs taken from the queue ahead; three times the sum of the lanes' concurrency if absent, twice with severalHosts."
    )
    let hosts: Consumers = section.section("queue").word(
      "consumers", default: .oneHost,
      "oneHost: all workers of the queue share a ledger; severalHosts: those of several hosts have ledgers of their own."
    )
    ledger = LedgerSettings(section.section("ledger"), path: ledgerPath)
    consumers = ledger.kind == .postgresql ? .oneHost : hosts
    maxUnknownResends = section.integer(
      "maxUnknownResends", default: 2, in: 0...10,
      "How often a job whose outcome is unknown is carried out again, when its onUnknown is resend.")
  }

  /// Reports a worker without sealing keys: the coordinator's secrets are always sealed, so all its jobs would become
  /// dead letters.
  public static func checkKeys(_ common: CommonConfiguration, _ section: ConfigurationSection) {
    let isAllowed = section.bool(
      "allowNoKeys", default: false,
      "Whether the worker may run without keysFile: every sealed secret is then a dead letter.")
    // An invalid file has been reported already.
    section.check(
      "keysFile", isAllowed || common.keys != nil || section.isGiven("keysFile"),
      "is missing: name the file with the coordinator's keys, because it seals every secret; or set allowNoKeys to true if every sender of jobs sends secrets in the clear"
    )
  }

  func prefetch(for lanes: [LaneConfiguration]) -> Int {
    prefetch ?? min(perSlot * Self.slots(lanes), Int(UInt16.max))
  }

  private var perSlot: Int { consumers == .oneHost ? Self.prefetchPerSlot : Self.prefetchPerSlotOfSeveralHosts }

  private static func slots(_ lanes: [LaneConfiguration]) -> Int { lanes.map(\.concurrency).reduce(0, +) }

  /// Warns when lanes would never be full, and refuses to take more jobs ahead than may count as begun.
  public func checkPrefetch(for lanes: [LaneConfiguration], _ section: ConfigurationSection) {
    let slots = Self.slots(lanes)
    if let prefetch, prefetch < slots {
      section.warning(
        "prefetch", "is less than the sum of the lanes' concurrency, \(slots): some of their slots stay empty")
    }
    let most = Self.mostAheadOfSeveralHosts(lanes)
    guard consumers == .severalHosts, let prefetch, prefetch > most else { return }
    section.problem(
      "prefetch",
      "must be at most \(most) with queue.consumers severalHosts, twice the sum of the lanes' concurrency: jobs taken ahead count as begun when a connection is lost"
    )
  }

  func bounded(_ prefetch: Int, for lanes: [LaneConfiguration]) -> Int {
    consumers == .severalHosts ? min(prefetch, Self.mostAheadOfSeveralHosts(lanes)) : prefetch
  }

  private static func mostAheadOfSeveralHosts(_ lanes: [LaneConfiguration]) -> Int {
    prefetchPerSlotOfSeveralHosts * slots(lanes)
  }
}
