public import CountersignMessages
public import CountersignTelemetry
public import JobEngine

/// A delivery report that arrived on the lane's own connection: how far a message has come on its way to the phone.
///
/// A report may be repeated, may overtake an earlier one or the answer to the call that sent the message, and may
/// arrive at another worker than the one that sent it.
public struct SessionReport: Sendable, Hashable {
  /// Progress of a message.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// On its way: accepted, buffered or forwarded. Another report may follow.
    case pending
    /// Arrived on the phone. Final.
    case delivered
    /// Will not arrive: rejected, expired, deleted or undeliverable. Final.
    case undelivered
    /// The provider does not know, and will not.
    case unknown
  }

  /// Name of the lane that the report arrived on.
  public var lane: String
  /// The provider's own ID of the message, as in `Classification.accepted`.
  public var reference: String
  public var state: State
  /// Job that the report is about, if the lane knows it.
  public var job: MessageIdentity?
  /// The job's `correlation_id`, if the lane knows it.
  public var correlationID: String?
  /// The provider's own code (`000`, `30003`, `UNDELIV`), if there is one.
  public var providerCode: String?
  /// Reason that the message will not arrive, in words of this system. `nil` for one that did or still may.
  public var reason: Reason?
  /// Time at which the provider says that the state was reached, else the time of the report's arrival.
  public var at: UnixTime

  public init(
    lane: String, reference: String, state: State, providerCode: String? = nil, reason: Reason? = nil, at: UnixTime
  ) {
    self.lane = lane
    self.reference = reference
    self.state = state
    self.providerCode = providerCode
    self.reason = reason
    self.at = at
  }
}

/// Receiver of the delivery reports of all lanes that have a connection of their own.
public protocol SessionReportSink: Sendable {
  /// Takes responsibility for a report, for instance by publishing it. The lane acknowledges the report to its provider
  /// only after `true`.
  ///
  /// - Returns: `false` if the provider has to send the report again later.
  func take(_ report: SessionReport) async -> Bool
}
