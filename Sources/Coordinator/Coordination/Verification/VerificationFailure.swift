/// Why a verification failed.
public struct VerificationFailure: Sendable, Hashable, Codable {
  /// A short name in capitals: ``tooManyAttempts``, ``notSentInTime``, or the reason a worker gave.
  public var code: String
  /// What a person should know, without secrets.
  public var detail: String?

  public init(code: String, detail: String? = nil) {
    self.code = code
    self.detail = detail
  }

  /// Every check that a code allows was used up by wrong codes.
  public static let tooManyAttempts = VerificationFailure(
    code: "TOO_MANY_ATTEMPTS", detail: "the code was wrong too often")

  /// The message could not be handed to a provider while its code was valid.
  public static let notSentInTime = VerificationFailure(
    code: "NOT_SENT_IN_TIME", detail: "no provider took the message while the code was valid")

  /// The pepper or the fixed code that its code was made with is gone from the configuration.
  public static let codeLost = VerificationFailure(
    code: "CODE_LOST", detail: "the configuration that the code was made with has changed")
}
