public import CountersignMessages
public import CountersignTelemetry

/// The record of effects begun and ended, so that a redelivered job is not carried out twice.
///
/// A claim is written immediately before the call, so an open claim means: the call may have begun. Every method is safe
/// to repeat. Several workers may share one ledger.
public protocol Ledger: Sendable {
  /// Whether it can tell a job that was begun from one that was only delivered. When it cannot, whatever is redelivered
  /// counts as begun, and the engine hands back nothing by requeueing.
  var remembers: Bool { get }

  /// Takes the job for a call, or says what is known of it. At most one of several claimants gets it.
  func claim(_ claim: LedgerClaim) async throws(LedgerError) -> ClaimAnswer

  /// Gives a claim back: its call surely had no effect. Nothing happens when the claim is no longer this one.
  func release(_ claim: LedgerClaim) async throws(LedgerError)

  /// Gives a claim back of which nobody knows how its call ended, so that the job may be tried again and the count of such
  /// calls is kept.
  func postpone(_ claim: LedgerClaim) async throws(LedgerError)

  /// Records the result of a job. The first one recorded stands.
  ///
  /// - Returns: The result that stands: nil when it is this one, the earlier one otherwise.
  func settle(_ claim: LedgerClaim, result: [UInt8], at time: UnixTime) async throws(LedgerError) -> [UInt8]?

  /// Finds a settled job by its claim's `match`.
  ///
  /// - Returns: nil when there is none, or when it is forgotten.
  func job(matching match: LedgerMatch) async throws(LedgerError) -> LedgerMatchedJob?

  /// Looks at so many jobs, oldest first, and forgets those that need be remembered no longer.
  ///
  /// - Parameters:
  ///   - time: The time now.
  ///   - first: Where to begin: 0, or `next` of the step before.
  ///   - limit: How many jobs are looked at.
  func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(LedgerError) -> LedgerPurgeStep

  /// Forgets the oldest jobs that ended, though they should be remembered; never one that was only begun.
  ///
  /// - Returns: How many were forgotten.
  func forgetOldest(limit: Int) async throws(LedgerError) -> Int

  /// Its size; nil when it takes no room.
  func size() async throws(LedgerError) -> LedgerSize?

  /// Gives room that holds nothing back to the file system.
  func shrink(pages: Int) async throws(LedgerError)

  /// Flushes and closes.
  func close() async
}

extension Ledger {
  public func job(matching match: LedgerMatch) async throws(LedgerError) -> LedgerMatchedJob? { nil }

  public func forgetOldest(limit: Int) async throws(LedgerError) -> Int { 0 }

  public func size() async throws(LedgerError) -> LedgerSize? { nil }

  public func shrink(pages: Int) async throws(LedgerError) {}
}

/// A job that was found again.
public struct LedgerMatchedJob: Sendable, Hashable {
  /// Its sender and its message ID.
  public var job: MessageIdentity
  /// Its `correlation_id`.
  public var correlationID: String?
}
