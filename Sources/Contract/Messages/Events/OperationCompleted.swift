public import CountersignTelemetry

/// An operation has done what it was for: the event `operation.completed`.
public struct OperationCompleted: Event, Hashable {
  public static let type = MessageType("operation.completed")

  public var operationID: String
  public var kind: OperationKind
  public var app: String
  public var completedAt: UnixTime
  /// How, in full: the token may be revoked and the notice refused.
  public var ending: OperationEnding
  /// Why the notice was not sent, when it was not.
  public var failure: VerificationStatus.Failure?

  public init(
    operationID: String, kind: OperationKind, app: String, completedAt: UnixTime, ending: OperationEnding,
    failure: VerificationStatus.Failure? = nil
  ) {
    self.operationID = operationID
    self.kind = kind
    self.app = app
    self.completedAt = completedAt
    self.ending = ending
    self.failure = failure
  }
}
