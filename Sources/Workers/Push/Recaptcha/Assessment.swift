/// What reCAPTCHA says of a token.
struct Assessment: Sendable, Hashable {
  /// reCAPTCHA's own name of the assessment.
  var reference: String?
  /// Why the token is of no use, in reCAPTCHA's words; nil when it is valid.
  var invalidReason: String?
  /// What the user was about to do, as the app has told reCAPTCHA.
  var action: String?
  /// 0 for surely a robot, 1 for surely a person.
  var score: Double?
  /// How likely an SMS to the number earns somebody money, 0 to 1.
  var tollFraudRisk: Double?
  /// Where the token was made: the bundle ID of an iOS app, the package of an Android app, the host of a page.
  var bundleID: String?
  var androidPackage: String?
  var host: String?

  /// What reCAPTCHA says when it has assessed a token before, or cannot tell that from a token that is too old.
  static let duplicateReasons: Set<String> = ["DUPE", "timeout-or-duplicate"]

  /// Whether the token may have been assessed before.
  var isDuplicate: Bool { invalidReason.map(Self.duplicateReasons.contains) ?? false }
}
