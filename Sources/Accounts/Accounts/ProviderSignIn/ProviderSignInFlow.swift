import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// `account.signInWithIdp`: signs in, or links, with a credential of an identity provider. `account.startIdp`: begins
/// that at the provider's page.
struct ProviderSignInFlow: Flow {
  private let parts: AccountParts

  init(_ parts: AccountParts) {
    self.parts = parts
  }

  var commands: [CommandKind] {
    [
      CommandKind(SignInWithIDP.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try ProviderSignInOrder(command, envelope, at: now, parts)
      },
      CommandKind(StartIDPSignIn.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try StartIDPOrder(command, envelope, parts)
      },
    ]
  }
}

extension APIError {
  static let invalidCredential = APIError(
    .invalidArgument, "credential is not the JSON of a provider's credential", field: "credential")
  static let invalidProviderID = APIError(
    .invalidProviderID, "the credential names no provider that accounts knows", field: "credential")
  static let invalidPendingToken = APIError(
    .invalidPendingToken, "the pending token is wrong, used or expired: sign in at the provider again",
    field: "credential")
  static let pageTooLate = APIError(
    .internalError, "what the provider's page brought was sent too long ago, and is used up: sign in there again",
    field: "timestamp", reason: "COMMAND_TOO_OLD")
}
