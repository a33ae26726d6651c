public import CountersignTelemetry

/// Command `operation.status`: reads the state and the timeline of an operation.
public struct GetOperationStatus: Command {
  public typealias Reply = OperationStatus
  public static let type = MessageType("operation.status")

  /// ID of a revocation, or the receipt of `app.verify`.
  public var operationID: String

  public init(operationID: String) {
    self.operationID = operationID
  }
}

/// Reply to `operation.status`: state and timeline of an operation.
public struct OperationStatus: MessageBody {
  public static let type = MessageType("operation.state")

  public var operationID: String
  public var kind: OperationKind
  public var app: String
  public var state: State
  /// Ending of a revocation that ended.
  public var ending: OperationEnding?
  /// Reason of the failure of the operation, or of its notice.
  public var failure: VerificationStatus.Failure?
  public var startedAt: UnixTime
  /// End of a receipt's validity, or the deadline of a revocation.
  public var expiresAt: UnixTime
  /// Oldest entry first.
  public var timeline: [VerificationStatus.Entry]

  /// Creates a status. The ``ending`` of a revocation is set afterwards.
  public init(
    operationID: String, kind: OperationKind, app: String, state: State, failure: VerificationStatus.Failure? = nil,
    startedAt: UnixTime, expiresAt: UnixTime, timeline: [VerificationStatus.Entry]
  ) {
    self.operationID = operationID
    self.kind = kind
    self.app = app
    self.state = state
    self.failure = failure
    self.startedAt = startedAt
    self.expiresAt = expiresAt
    self.timeline = timeline
  }

  /// State of an operation. More words may be added.
  public struct State: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// In progress. Receipt: the app has not returned its secret yet, and still may.
    public static let running = State(rawValue: "running")
    /// Done. Receipt: the app returned its secret.
    public static let completed = State(rawValue: "completed")
    /// Failed for good. Receipt: the push was not delivered.
    public static let failed = State(rawValue: "failed")
    /// Receipt: too old.
    public static let expired = State(rawValue: "expired")
    /// Receipt: withdrawn.
    public static let revoked = State(rawValue: "revoked")

    public static let known: [State] = [.running, .completed, .failed, .expired, .revoked]
  }
}

/// Kind of an operation. More words may be added.
public struct OperationKind: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Proof of an app by push.
  public static let appVerification = OperationKind(rawValue: "app.verify")
  /// Revocation of a Sign in with Apple token, and notice to its owner.
  public static let appleRevocation = OperationKind(rawValue: "apple.revoke")

  public static let known: [OperationKind] = [.appVerification, .appleRevocation]
}

/// Ending of a revocation. More words may be added.
public struct OperationEnding: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The token is revoked. No notice was requested.
  public static let revoked = OperationEnding(rawValue: "REVOKED")
  /// The token is revoked, and the mail server accepted the notice.
  public static let revokedAndNotified = OperationEnding(rawValue: "REVOKED_AND_NOTIFIED")
  /// The token is revoked. The notice was refused for good.
  public static let revokedNoticeRefused = OperationEnding(rawValue: "REVOKED_NOTICE_REFUSED")
  /// The token is revoked. The notice could not be sent in time.
  public static let revokedNoticeExpired = OperationEnding(rawValue: "REVOKED_NOTICE_EXPIRED")
  /// The token is revoked. The notice may or may not have been sent.
  public static let revokedNoticeUnknown = OperationEnding(rawValue: "REVOKED_NOTICE_UNKNOWN")
  /// Apple refuses the token.
  public static let refused = OperationEnding(rawValue: "REFUSED")
  /// Apple was unreachable until the deadline. The token is unchanged.
  public static let expired = OperationEnding(rawValue: "EXPIRED")
  /// The token may or may not be revoked. Starting again with the same token is safe.
  public static let unknown = OperationEnding(rawValue: "UNKNOWN")
  /// The authorization code is used up, and the token it was exchanged for is lost: only the user can revoke it now.
  public static let lost = OperationEnding(rawValue: "LOST")

  public static let known: [OperationEnding] = [
    .revoked, .revokedAndNotified, .revokedNoticeRefused, .revokedNoticeExpired, .revokedNoticeUnknown, .refused,
    .expired, .unknown, .lost,
  ]
}
