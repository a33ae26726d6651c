public import ServiceRuntime

/// What every worker's configuration has beside its lanes.
public struct WorkerSettings: Sendable, Hashable {
  /// The prefetch of a worker is its lanes' concurrency times this, unless the configuration says otherwise: enough that no slot waits
  /// for the broker, and little enough that no job waits here that another worker could begin.
  static let prefetchPerSlot = 3
  /// The same where workers of several hosts have ledgers of their own: what is only prefetched when a connection is lost counts as begun.
  static let prefetchPerSlotOfSeveralHosts = 2

  /// Whose workers take jobs of a queue.
  public enum Consumers: String, Sendable, CaseIterable {
    /// Those of one host, which share a ledger.
    case oneHost
    /// Those of several hosts, each with a ledger of its own.
    case severalHosts
  }

  /// Jobs taken from the queue ahead; nil: as the lanes' concurrency asks for.
  public let prefetch: Int?
  /// Whose workers take jobs of the queue.
  public let consumers: Consumers
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
    prefetch = section.optionalInteger(
      "prefetch", in: 1...65_535,
      "Jobs taken from the queue ahead; three times the sum of the lanes' concurrency if absent, twice with severalHosts."
    )
    consumers = section.section("queue").word(
      "consumers", default: .oneHost,
      "oneHost: all workers of the queue share a ledger; severalHosts: those of several hosts have ledgers of their own."
    )
    ledger = LedgerSettings(section.section("ledger"), path: ledgerPath)
    maxUnknownResends = section.integer(
      "maxUnknownResends", default: 2, in: 0...10,
      "How often a job whose outcome is unknown is carried out again, when its onUnknown is resend.")
  }

  /// Reports a worker that could open no secret: the coordinator's are always sealed, so all its jobs would become dead letters.
  public static func checkKeys(_ common: CommonConfiguration, _ section: ConfigurationSection) {
    let isAllowed = section.bool(
      "allowNoKeys", default: false,
      "Whether the worker may run without keysFile: every sealed secret is then a dead letter.")
    // A file that is named and wrong is reported already.
    section.check(
      "keysFile", isAllowed || common.keys != nil || section.isGiven("keysFile"),
      "is missing: name the file with the coordinator's keys, because it seals every secret; or set allowNoKeys to true where all that send jobs here send them in the clear"
    )
  }

  /// Jobs taken from the queue of these lanes ahead.
  func prefetch(for lanes: [LaneConfiguration]) -> Int {
    prefetch ?? min(perSlot * Self.slots(lanes), Int(UInt16.max))
  }

  private var perSlot: Int { consumers == .oneHost ? Self.prefetchPerSlot : Self.prefetchPerSlotOfSeveralHosts }

  private static func slots(_ lanes: [LaneConfiguration]) -> Int { lanes.map(\.concurrency).reduce(0, +) }

  /// Warns when lanes would never be full, and refuses to take more ahead than may be counted as begun.
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
      "may be \(most) at most with queue.consumers severalHosts, twice the sum of the lanes' concurrency: what is taken ahead when a connection is lost counts as begun"
    )
  }

  /// Number of jobs an engine takes ahead, given what it wants to.
  func bounded(_ prefetch: Int, for lanes: [LaneConfiguration]) -> Int {
    consumers == .severalHosts ? min(prefetch, Self.mostAheadOfSeveralHosts(lanes)) : prefetch
  }

  private static func mostAheadOfSeveralHosts(_ lanes: [LaneConfiguration]) -> Int {
    prefetchPerSlotOfSeveralHosts * slots(lanes)
  }
}
