import CountersignMessages

extension APIError {
  static let missingOobCode = APIError(.missingOobCode, "the code of the link is needed", field: "code")
  static let invalidOobCode = APIError(
    .invalidOobCode, "the code is wrong or was used, or the account has changed since: ask for another mail",
    field: "code")
  static let expiredOobCode = APIError(.expiredOobCode, "the code is too old: ask for another mail", field: "code")
  static let otherAddress = APIError(
    .invalidEmail, "the mail went to another address", field: "email", reason: "OTHER_ADDRESS")
}
