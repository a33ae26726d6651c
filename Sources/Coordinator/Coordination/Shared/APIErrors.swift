import CountersignMessages

// Errors that belong to no single flow.
extension APIError {
  static let missingPhoneNumber = APIError(
    .missingPhoneNumber, "there is no phone number: give one in E.164, such as +14155550123", field: "phoneNumber")
  static let missingApp = APIError(
    .missingClientIdentifier, "there is no app: give the ID under which the configuration has it", field: "app")
  static let unknownApp = APIError(
    .invalidArgument, "the configuration has no such app: add it under 'apps', or correct the name", field: "app")
  static let appNotVerified = APIError(
    .appNotVerified,
    "app verification is off for this app, so only its fictional numbers complete: set it to 'trusted' if the caller vouches for its client",
    field: "app")
  static let numberTypeRefused = APIError(
    .invalidPhoneNumber, "numbers of this type get no message: give the number of a mobile phone", field: "phoneNumber")
  static let regionNotAllowed = APIError(
    .operationNotAllowed,
    "messages to this region are not allowed: add it to 'regions.allowed' in the configuration of the coordinator",
    field: "phoneNumber")
}

extension CoordinatorRules {
  /// The app that a command names.
  func app(_ id: String) throws(APIError) -> AppProfile {
    guard !id.isEmpty else { throw .missingApp }
    guard let app = apps[id] else { throw .unknownApp }
    return app
  }
}
