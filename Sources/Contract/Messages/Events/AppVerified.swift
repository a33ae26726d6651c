public import CountersignTelemetry

/// An app has proven itself: the event `app.verified`. Told once of a receipt, and once of each reCAPTCHA token.
public struct AppVerified: Event, Hashable {
  public static let type = MessageType("app.verified")

  public var app: String
  /// How it did.
  public var method: Method
  public var verifiedAt: UnixTime
  /// The receipt, when it was by push.
  public var receipt: String?
  /// reCAPTCHA's score, 0 for a machine and 1 for a person, when it was by reCAPTCHA and that gave one.
  public var score: Double?

  public init(app: String, method: Method, verifiedAt: UnixTime, receipt: String? = nil, score: Double? = nil) {
    self.app = app
    self.method = method
    self.verifiedAt = verifiedAt
    self.receipt = receipt
    self.score = score
  }

  /// How an app proves itself. More words may come.
  public struct Method: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// It returned the secret that was pushed to its device.
    public static let push = Method(rawValue: "push")
    /// It returned a reCAPTCHA token that passed.
    public static let recaptcha = Method(rawValue: "recaptcha")

    public static let known: [Method] = [.push, .recaptcha]
  }
}
