/// Reason that a verification failed.
public struct VerificationFailure: Sendable, Hashable, Codable {
  /// A short name in capitals: ``tooManyAttempts``, ``notSentInTime``, or a worker's reason.
  public var code: String
  /// Explanation for people, without secrets.
  public var detail: String?

  public init(code: String, detail: String? = nil) {
    self.code = code
    self.detail = detail
  }

  /// Wrong codes used up all allowed checks.
  public static let tooManyAttempts = VerificationFailure(
    code: "TOO_MANY_ATTEMPTS", detail: "the code was wrong too often")

  /// No provider accepted the SMS while its code was valid.
  public static let notSentInTime = VerificationFailure(
    code: "NOT_SENT_IN_TIME", detail: "no provider took the message while the code was valid")

  /// The pepper or the fixed code of the verification is no longer configured.
  public static let codeLost = VerificationFailure(
    code: "CODE_LOST", detail: "the configuration that the code was made with has changed")
}
