import CountersignMessages

extension APIError {
  /// - Parameter reason: shown to the app; holds nothing of the credential.
  static func invalidIDPResponse(_ reason: String) -> APIError {
    APIError(.invalidIDPResponse, reason, field: "credential")
  }

  static let nonceMissing = APIError(
    .missingOrInvalidNonce, "Nonce is missing in the request.", field: "credential", reason: "NONCE_MISSING")
  static let wrongNonce = APIError(
    .missingOrInvalidNonce, "the nonce is not the one whose SHA-256 the provider was given", field: "credential")
  static let otherIssuer = invalidIDPResponse(
    "the account's identity comes from another issuer than the provider has now")
  static let duplicateCredential = APIError(
    .missingOrInvalidNonce, "Duplicate credential received. Please try again with a new credential.",
    field: "credential", reason: "DUPLICATE_CREDENTIAL")

  static func providerUnreachable(_ id: String) -> APIError {
    APIError(
      .internalError, "\(id) does not answer, or not as agreed: the log of accounts says how", retryAfter: 10,
      reason: "PROVIDER_UNREACHABLE")
  }

  /// - Parameter lack: what is to be set up, and where.
  static func noPage(_ id: String, _ lack: String) -> APIError {
    APIError(.operationNotAllowed, "the page of \(id) cannot be used: \(lack)", reason: "PROVIDER_PAGE")
  }

  static func providerSecretWrong(_ id: String) -> APIError {
    APIError(
      .internalError, "\(id) needs the project's secret: put the right one into providerSecretsFile of accounts",
      reason: "PROVIDER_SECRET")
  }

  static let openIDNotFound = APIError(
    .operationNotAllowed, "The identity provider configuration is not found.", field: "project", reason: "METHOD_OFF")

  static func providerHasNoPage(_ id: String) -> APIError {
    APIError(
      .operationNotAllowed, "\(id) has no page to sign in at: the guide of identity providers says what it needs",
      field: "providerID", reason: "NO_PAGE")
  }
}
