import JobEngine

/// One account of reCAPTCHA.
protocol RecaptchaLane: Sendable {
  /// The lane's name, as results show it.
  var name: String { get }

  /// Has a token assessed, once: reCAPTCHA takes a token for one assessment.
  /// - Parameters:
  ///   - request: The token and what is known about its user.
  ///   - siteKey: The key that the app got the token with.
  ///   - timeout: How long the call may take.
  func assess(_ request: AssessmentRequest, siteKey: String, timeout: Duration) async -> AssessmentAnswer

  /// Asks whether the lane works again, as far as that can be told without a token of reCAPTCHA.
  func probe() async -> ProbeResult
}

extension RecaptchaLane {
  func probe() async -> ProbeResult { .cannotTell }
}

/// What asking for an assessment came to.
enum AssessmentAnswer: Sendable, Hashable {
  case assessed(Assessment)
  /// There is none.
  case failed(Classification)
}
