import CountersignMessages

// Refusals of accounts and the coordinator as servers are told them: the contract's code, field and words, with the
// status of HTTP that says the same. Whatever is not here is told as to everybody else.

extension ProtocolError {
  /// Statuses of the codes that servers get.
  static let verificationStatuses: [APIErrorCode: Int] = [
    .invalidArgument: 400, .invalidPhoneNumber: 400, .missingPhoneNumber: 400, .projectNotFound: 400,
    .invalidAccessToken: 401, .insufficientPermission: 403, .operationNotAllowed: 403, .invalidSessionInfo: 404,
    .sessionExpired: 409, .invalidCode: 422, .quotaExceeded: 429, .tooManyAttempts: 429,
  ]

  /// Status of a key that stands for another content (draft-ietf-httpapi-idempotency-key-header, section 2.7).
  static let reusedKeyStatus = 422

  /// Fields of a command that a server writes. A wrong one of others is a failure of ours.
  private static let inputs: Set<String> = [
    "phoneNumber", "app", "region", "languageCode", "client.ip", "client.userAgent", "client.instance",
    "verificationID", "code", "idempotencyKey",
  ]

  static let unknownVerification = ProtocolError(
    status: 404, ProblemDetails(APIError(.invalidSessionInfo, "there is no such verification")))

  /// - Parameters:
  ///   - name: the field, which may be one that there is not. Never its value.
  ///   - problem: what follows the field in a sentence.
  static func wrongField(_ name: String, _ problem: String) -> ProtocolError {
    ProtocolError(
      status: 400, ProblemDetails(APIError(.invalidArgument, "\(name) \(problem)", field: name)))
  }

  /// `nil` for a refusal that does not concern servers, such as that of a wrong configuration.
  init?(ofVerification error: APIError) {
    guard let status = Self.verificationStatuses[error.code] else { return nil }
    switch error.code {
    case .invalidArgument where error.reason == Self.reusedKey:
      self.init(status: Self.reusedKeyStatus, ProblemDetails(error))
    case .invalidArgument where error.field.map(Self.inputs.contains) != true: return nil
    case .projectNotFound: return nil
    case .operationNotAllowed where Misconfiguration(error) != nil: return nil
    default: self.init(status: status, ProblemDetails(error))
    }
  }

  private static let reusedKey = "IDEMPOTENCY_KEY_REUSED"
}
