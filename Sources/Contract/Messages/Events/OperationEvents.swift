public import CountersignTelemetry

/// Event `app.verified`: an app has proven its identity. Published once per receipt and per reCAPTCHA token.
public struct AppVerified: Event, Hashable {
  public static let type = MessageType("app.verified")

  public var app: String
  /// Method of the proof.
  public var method: Method
  public var verifiedAt: UnixTime
  /// Receipt of a proof by push.
  public var receipt: String?
  /// Score of a proof by reCAPTCHA, from 0 (machine) to 1 (person), if reCAPTCHA gave one.
  public var score: Double?

  public init(app: String, method: Method, verifiedAt: UnixTime, receipt: String? = nil, score: Double? = nil) {
    self.app = app
    self.method = method
    self.verifiedAt = verifiedAt
    self.receipt = receipt
    self.score = score
  }

  /// Method of a proof. More words may be added.
  public struct Method: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The app returned the secret that was pushed to its device.
    public static let push = Method(rawValue: "push")
    /// The app returned a reCAPTCHA token that passed.
    public static let recaptcha = Method(rawValue: "recaptcha")

    public static let known: [Method] = [.push, .recaptcha]
  }
}

/// Event `app.unverified`: the push with the secret of a receipt was not delivered. The secret will not arrive; the app
/// should fall back to reCAPTCHA.
///
/// The message's `correlation_id` is the receipt, so that a service whose app is still connected can pass it on.
public struct AppUnverified: Event, Hashable {
  public static let type = MessageType("app.unverified")

  public var receipt: String
  public var app: String
  public var failedAt: UnixTime
  /// Reason: `UNREGISTERED`, `WRONG_TOPIC`, `WRONG_ENVIRONMENT`, …
  public var failure: VerificationStatus.Failure

  public init(receipt: String, app: String, failedAt: UnixTime, failure: VerificationStatus.Failure) {
    self.receipt = receipt
    self.app = app
    self.failedAt = failedAt
    self.failure = failure
  }
}

/// Event `operation.completed`: an operation has reached its goal.
public struct OperationCompleted: Event, Hashable {
  public static let type = MessageType("operation.completed")

  public var operationID: String
  public var kind: OperationKind
  public var app: String
  public var completedAt: UnixTime
  /// Ending in detail: the token may be revoked and the notice refused.
  public var ending: OperationEnding
  /// Reason for a notice that was not sent.
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

/// Event `operation.failed`: an operation has failed, or its outcome is unknown.
public struct OperationFailed: Event, Hashable {
  public static let type = MessageType("operation.failed")

  public var operationID: String
  public var kind: OperationKind
  public var app: String
  public var failedAt: UnixTime
  public var ending: OperationEnding
  /// Reason and remedy.
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
