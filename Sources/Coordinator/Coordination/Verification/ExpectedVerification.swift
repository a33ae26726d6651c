import CountersignMessages

/// App, purpose and subject that a command expects its verification to have. Absent ones are not compared.
struct ExpectedVerification: Sendable {
  private let app: String?
  private let purpose: VerificationPurpose?
  private let subject: String?

  init(app: String?, purpose: VerificationPurpose?, subject: String?) {
    self.app = CommandFields.unlessEmpty(app)
    self.purpose = purpose
    self.subject = CommandFields.unlessEmpty(subject)
  }

  var parts: [String] { [app ?? "", purpose?.rawValue ?? "", subject ?? ""] }

  /// Field that differs.
  func difference(from verification: PhoneVerification) -> String? {
    if let app, app != verification.app { return "app" }
    if let purpose, purpose != verification.purpose { return "purpose" }
    if let subject, subject != verification.subject { return "subject" }
    return nil
  }
}
