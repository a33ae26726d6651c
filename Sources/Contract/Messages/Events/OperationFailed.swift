public import CountersignTelemetry

/// An operation has not done what it was for, or nobody knows whether it has: the event `operation.failed`.
public struct OperationFailed: Event, Hashable {
  public static let type = MessageType("operation.failed")

  public var operationID: String
  public var kind: OperationKind
  public var app: String
  public var failedAt: UnixTime
  public var ending: OperationEnding
  /// Why, and what is to be done.
  public var failure: VerificationStatus.Failure

  public init(
    operationID: String, kind: OperationKind, app: String, failedAt: UnixTime, ending: OperationEnding,
    failure: VerificationStatus.Failure
  ) {
    self.operationID = operationID
    self.kind = kind
    self.app = app
    self.failedAt = failedAt
    self.ending = ending
    self.failure = failure
  }
}
