import CountersignMessages

extension APIError {
  static let duplicateCredential = APIError(
    .missingOrInvalidNonce, "Duplicate credential received. Please try again with a new credential.",
    field: "credential", reason: "DUPLICATE_CREDENTIAL")
}
