public import CountersignTelemetry

/// Configuration of an app.
public struct AppProfile: Sendable, Hashable {
  /// Its bundle ID.
  public var id: String
  /// The app's name in the SMS.
  public var name: String
  /// The domain to which phones bind the code for autofill.
  public var domain: String?
  /// The hash of an Android app, by which the phone hands the code to it (SMS Retriever).
  public var androidHash: String?
  /// The language of the SMS when the command names none, BCP 47.
  public var languageCode: String?
  /// The worker's template.
  public var template: String
  public var verification: AppVerification
  /// Fictional numbers in E.164 with their fixed codes.
  public var fictionalNumbers: [String: String]
  /// Action that the app passes to reCAPTCHA.
  public var recaptchaAction: String
  /// Gaps before its codes are sent a second, third, … time, if they differ from the policy's.
  public var resendGaps: [Duration]?
  /// Receipts that were issued before this time are not accepted.
  public var receiptsValidFrom: UnixTime?

  /// Action that the SDKs of this field pass to reCAPTCHA when they request a code.
  public static let defaultRecaptchaAction = "sendVerificationCode"
  /// Maximum number of fictional numbers of an app.
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
