public import CountersignTelemetry

/// State of an operation, and what has happened: the reply to `operation.status`.
public struct OperationStatus: MessageBody {
  public static let type = MessageType("operation.state")

  public var operationID: String
  public var kind: OperationKind
  public var app: String
  public var state: State
  /// How a revocation ended, when it has.
  public var ending: OperationEnding?
  /// Why it failed, or why the notice did.
  public var failure: VerificationStatus.Failure?
  public var startedAt: UnixTime
  /// When a receipt stops, or stopped, being accepted; until when a revocation may take.
  public var expiresAt: UnixTime
  /// What has happened, the oldest first.
  public var timeline: [VerificationStatus.Entry]

  public init(
    operationID: String, kind: OperationKind, app: String, state: State, ending: OperationEnding? = nil,
    failure: VerificationStatus.Failure? = nil, startedAt: UnixTime, expiresAt: UnixTime,
    timeline: [VerificationStatus.Entry]
  ) {
    self.operationID = operationID
    self.kind = kind
    self.app = app
    self.state = state
    self.ending = ending
    self.failure = failure
    self.startedAt = startedAt
    self.expiresAt = expiresAt
    self.timeline = timeline
  }

  /// Where it stands. More words may come.
  public struct State: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Under way. Of a receipt: the app has not returned its secret yet, and still may.
    public static let running = State(rawValue: "running")
    /// Done. Of a receipt: the app has returned its secret.
    public static let completed = State(rawValue: "completed")
    /// It will not be done. Of a receipt: the push was not delivered.
    public static let failed = State(rawValue: "failed")
    /// Of a receipt: it is too old.
    public static let expired = State(rawValue: "expired")
    /// Of a receipt: it was taken back.
    public static let revoked = State(rawValue: "revoked")

    public static let known: [State] = [.running, .completed, .failed, .expired, .revoked]
  }
}
