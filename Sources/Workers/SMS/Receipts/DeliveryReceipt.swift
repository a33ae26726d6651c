public import CountersignMessages
public import CountersignTelemetry
public import JobEngine

/// What a provider reports, some time after it took a message, of the message's way to the phone.
///
/// A receipt may be repeated, may overtake an earlier one or the answer to the call that sent the message, and may come to
/// another worker than the one that sent it.
public struct DeliveryReceipt: Sendable, Hashable {
  /// How far the message has come.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// It is on its way: accepted, buffered, handed on. Another receipt may follow.
    case pending
    /// The phone has it. Final.
    case delivered
    /// It will not arrive: rejected, expired, deleted, undeliverable. Final.
    case undelivered
    /// The provider does not know, and will not.
    case unknown
  }

  /// The name of the lane that the receipt came by.
  public var lane: String
  /// The provider's own ID of the message, as `Classification.accepted` gave it.
  public var reference: String
  public var state: State
  /// The job, when it is known here.
  public var job: MessageIdentity?
  /// The job's `correlation_id`, when it is known here.
  public var correlationID: String?
  /// The provider's own code as it came (`000`, `30003`, `UNDELIV`), when there is one.
  public var providerCode: String?
  /// Why the message will not arrive, in words of this system; nil for one that did or still may.
  public var reason: Reason?
  /// When the state was reached as the provider says, else when the receipt came.
  public var at: UnixTime

  /// - Parameters:
  ///   - lane: The name of the lane that the receipt came by.
  ///   - reference: The provider's own ID of the message.
  ///   - state: How far the message has come.
  ///   - providerCode: The provider's own code as it came.
  ///   - reason: Why the message will not arrive.
  ///   - at: When the state was reached.
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
