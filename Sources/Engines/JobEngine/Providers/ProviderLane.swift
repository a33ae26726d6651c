public import CountersignTelemetry

/// A way out of a worker: one account at a provider, for calls of one kind.
public protocol ProviderLane<Call>: Sendable {
  /// Everything one call is about: the job, and what the request needs besides.
  associatedtype Call: Sendable

  /// Name of the lane in jobs and results.
  var name: String { get }

  /// Whether the provider carries a job out once, however often it gets it under the same ID. A job that only such a
  /// lane serves is carried out again when its outcome is unknown. The default is `false`.
  var deduplicates: Bool { get }

  /// Calls the provider, once. A call whose outcome is unknown is repeated only where that is harmless.
  ///
  /// - Parameters:
  ///   - call: job to carry out.
  ///   - attempt: identity of the job, and the time by which the call has to end.
  /// - Returns: the outcome of the call.
  func send(_ call: Call, _ attempt: JobAttempt) async -> Classification

  /// Asks the provider for the outcome of an earlier call.
  ///
  /// - Returns: `nil`, the default, if the provider cannot tell.
  func lookUp(_ call: Call, _ attempt: JobAttempt) async -> Classification?

  /// Asks whether the lane, which is down, works again, without carrying anything out.
  ///
  /// - Returns: `.cannotTell`, the default, makes the next job the trial.
  func probe() async -> ProbeResult

  /// Ends the connections to the provider. Calls under way fail. The default does nothing.
  func shutdown() async
}

extension ProviderLane {
  public var deduplicates: Bool { false }

  public func lookUp(_ call: Call, _ attempt: JobAttempt) async -> Classification? { nil }

  public func probe() async -> ProbeResult { .cannotTell }

  public func shutdown() async {}
}

/// Parts of the worker that a provider makes a lane from.
public struct LaneContext: Sendable {
  /// Name of the lane in jobs, results, logs and metrics.
  public let name: String
  /// Rules for the provider's answers and delivery reports.
  public let table: ProviderTable
  /// HTTP transport of this lane alone, so that one provider's trouble does not take another's connections.
  public let http: any HTTPCaller
  public let clock: any WallClock
  /// File with the authorities that the provider's certificate must come from. The system's if `nil`.
  public var caFile: String?
  /// Log for events of the lane's own connection.
  public var logger: Logger?

  public init(name: String, table: ProviderTable, http: any HTTPCaller, clock: any WallClock) {
    self.name = name
    self.table = table
    self.http = http
    self.clock = clock
  }
}
