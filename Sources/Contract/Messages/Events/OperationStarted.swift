public import CountersignTelemetry

/// An operation is under way: the reply to `revocation.start` and the event `operation.started`.
public struct OperationStarted: Event, Hashable {
  public static let type = MessageType("operation.started")

  public var operationID: String
  public var kind: OperationKind
  public var app: String
  public var startedAt: UnixTime
  /// Whether the same was asked for before, and this is the operation of that time.
  public var repeated: Bool

  public init(operationID: String, kind: OperationKind, app: String, startedAt: UnixTime, repeated: Bool) {
    self.operationID = operationID
    self.kind = kind
    self.app = app
    self.startedAt = startedAt
    self.repeated = repeated
  }
}
