import CountersignTelemetry

/// A token that is ready to be assessed. It does not print.
public struct AssessmentRequest: Sendable {
  let app: String
  let token: RecaptchaToken
  let expectedAction: String
  let ip: String?
  let userAgent: String?
  let phoneNumber: String?
}

extension AssessmentRequest: CustomStringConvertible, CustomReflectable {
  public var description: String { "<reCAPTCHA token>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
