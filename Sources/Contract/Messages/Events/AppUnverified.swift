public import CountersignTelemetry

/// The push with the secret of a receipt was not delivered: the event `app.unverified`. The app had better fall back to reCAPTCHA
/// now: its secret will not come.
///
/// The message's `correlation_id` is the receipt, so that a service whose app is still connected can pass it on.
public struct AppUnverified: Event, Hashable {
  public static let type = MessageType("app.unverified")

  public var receipt: String
  public var app: String
  public var failedAt: UnixTime
  /// Why: `UNREGISTERED`, `WRONG_TOPIC`, `WRONG_ENVIRONMENT`, …
  public var failure: VerificationStatus.Failure

  public init(receipt: String, app: String, failedAt: UnixTime, failure: VerificationStatus.Failure) {
    self.receipt = receipt
    self.app = app
    self.failedAt = failedAt
    self.failure = failure
  }
}
