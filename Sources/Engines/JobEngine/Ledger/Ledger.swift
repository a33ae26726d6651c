public import CountersignMessages
public import CountersignTelemetry

/// The record of effects begun and ended, so that a redelivered job is not carried out twice.
///
/// A claim is written immediately before the call, so an open claim means: the call may have begun. Every entry is safe
/// to repeat. Several workers may share one ledger.
public protocol Ledger: Sendable {
  /// Whether it distinguishes a begun job from a merely delivered one. Otherwise every redelivered job counts as begun,
  /// and the engine hands back nothing by requeueing.
  var remembers: Bool { get }

  /// Carries out entries in their order. One that fails changes nothing and does not affect the others, unless the
  /// ledger itself fails. Suspends until all are committed.
  ///
  /// It returns in bounded time, also by failing: every other claim of the worker waits meanwhile, and
  /// `JobRules.leaseMargin` has to cover it.
  /// - Parameter entries: at most ``LedgerEntry/maxBatch``.
  /// - Returns: for each entry its answer, or the reason that it may not be recorded.
  func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, StoreError>]

  /// Finds a settled job by its claim's `match`.
  ///
  /// - Returns: `nil` when there is none, or when it is forgotten.
  func job(matching match: LedgerMatch) async throws(StoreError) -> LedgerMatchedJob?

  /// Visits jobs, oldest first, and forgets those past their retention.
  ///
  /// - Parameters:
  ///   - time: the current time.
  ///   - first: start of the visit: 0, or `next` of the previous step.
  ///   - limit: maximum number of visited jobs.
  func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(StoreError) -> LedgerPurgeStep

  /// Forgets the oldest ended jobs before the end of their retention. Never one that was only begun.
  ///
  /// - Returns: the number of forgotten jobs.
  func forgetOldest(limit: Int) async throws(StoreError) -> Int

  /// Its size. `nil` when it occupies no storage.
  func size() async throws(StoreError) -> LedgerSize?

  /// Returns free space to the file system.
  func shrink(pages: Int) async throws(StoreError)

  /// Remedy for an operator while it cannot be written.
  var remedy: String { get }

  func close() async
}

extension Ledger {
  public func job(matching match: LedgerMatch) async throws(StoreError) -> LedgerMatchedJob? { nil }

  public func forgetOldest(limit: Int) async throws(StoreError) -> Int { 0 }

  public func size() async throws(StoreError) -> LedgerSize? { nil }

  public func shrink(pages: Int) async throws(StoreError) {}

  public var remedy: String { "free space, or fix the file's permissions" }
}

/// A job found by a provider's ID.
public struct LedgerMatchedJob: Sendable, Hashable {
  /// Its sender and its message ID.
  public var job: MessageIdentity
  /// Its `correlation_id`.
  public var correlationID: String?
}
