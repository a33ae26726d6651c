public import CountersignTelemetry

/// What the coordinator knows of an app.
public struct AppProfile: Sendable, Hashable {
  /// Its bundle ID.
  public var id: String
  /// The name in the message.
  public var name: String
  /// The domain that phones bind the code to when they fill it in by themselves.
  public var domain: String?
  /// The hash of an Android app, by which its phone hands the code to it (SMS Retriever).
  public var androidHash: String?
  /// The language of the message when the command names none, BCP 47.
  public var languageCode: String?
  /// The worker's template.
  public var template: String
  public var verification: AppVerification
  /// Fictional numbers in E.164 with their fixed codes.
  public var fictionalNumbers: [String: String]
  /// What the app tells reCAPTCHA that its user is about to do.
  public var recaptchaAction: String
  /// Waits before its codes are sent a second, third, … time, where that is not what the policy says for all.
  public var resendGaps: [Duration]?
  /// Receipts that were issued before this time are not accepted.
  public var receiptsValidFrom: UnixTime?

  /// What the SDKs of this field tell reCAPTCHA when they ask for a code.
  public static let defaultRecaptchaAction = "sendVerificationCode"
  /// How many fictional numbers an app may have.
  public static let maxFictionalNumbers = 10
  /// Digits of the fixed code of a fictional number.
  public static let fictionalCodeLength = 6

  public init(
    id: String, name: String, domain: String? = nil, androidHash: String? = nil, languageCode: String? = nil,
    template: String = "verification", verification: AppVerification, fictionalNumbers: [String: String] = [:],
    recaptchaAction: String = defaultRecaptchaAction, receiptsValidFrom: UnixTime? = nil,
    resendGaps: [Duration]? = nil
  ) {
    self.id = id
    self.name = name
    self.domain = domain
    self.androidHash = androidHash
    self.languageCode = languageCode
    self.template = template
    self.verification = verification
    self.fictionalNumbers = fictionalNumbers
    self.recaptchaAction = recaptchaAction
    self.receiptsValidFrom = receiptsValidFrom
    self.resendGaps = resendGaps
  }
}
