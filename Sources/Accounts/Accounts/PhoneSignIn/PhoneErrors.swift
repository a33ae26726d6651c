import CountersignMessages
import Synchronization

extension APIError {
  static let missingSessionInfo = APIError(
    .missingSessionInfo, "the session is missing: send the verificationID of verification.start",
    field: "sessionInfo")
  static let missingCode = APIError(.missingCode, "the code is missing: send the one from the SMS", field: "code")
  static let malformedCode = APIError(.invalidCode, "the code is too long to be one", field: "code")
  static let missingPhoneNumber = APIError(
    .missingPhoneNumber, "a temporary proof is used together with its phone number", field: "phoneNumber")
  static let unknownSession = APIError(
    .invalidSessionInfo, "there is no such verification: start one, and send its verificationID",
    field: "sessionInfo")
  static let codeUsed = APIError(
    .sessionExpired, "the code was used already, and counts once: start a new verification", field: "sessionInfo",
    reason: "CODE_USED")
  static let approvalTooOld = APIError(
    .sessionExpired, "the code was sent too late: start a new verification", field: "sessionInfo",
    reason: "APPROVAL_TOO_OLD")
  static let invalidTemporaryProof = APIError(
    .invalidTemporaryProof, "the temporary proof is wrong, used or expired: verify the number again",
    field: "temporaryProof")
  static let phoneNumberExists = APIError(
    .phoneNumberExists, "another account has the number: sign in to that one", field: "phoneNumber")
  static let numberProvenForReal = APIError(
    .operationNotAllowed, "a fictional code does not open an account whose number was proven for real",
    field: "phoneNumber", reason: "NUMBER_PROVEN_FOR_REAL")
  static let appNotFound = APIError(
    .invalidArgument, "the project has no such app: give accounts and the gateway the same projectsDirectory",
    field: "app",
    reason: "APP_NOT_FOUND")
  static let tooManyWaiting = APIError(
    .tooManyAttempts, "too many requests wait for the check of this code: wait for their answers",
    field: "sessionInfo", retryAfter: Int(PhoneCheck.patience.components.seconds), reason: "CHECK_RUNNING")
  static let noCheckReply = APIError(
    .internalError, "the code could not be checked in time, and is still good: try again", retryAfter: 5,
    reason: "CHECK_NOT_ANSWERED")

  static let requesterGone = APIError(
    .internalError,
    "the command was sent too long ago, and nothing was used up: try again; if it was not late, set the clocks of its sender and of accounts",
    field: "timestamp", retryAfter: 5, reason: "COMMAND_TOO_OLD")

  /// The coordinator's refusal as the requester gets it, in terms of its own command.
  init(refusalOfCheck error: APIError) {
    self = error
    switch error.code {
    case .invalidArgument:
      // The input of users never breaks the contract, so keys or configurations of the two services differ.
      self = APIError(
        .internalError, "the coordinator does not accept the check (\(error.message)): compare keys and configurations",
        reason: error.reason ?? "CHECK_REFUSED")
    default: if error.field == "verificationID" || error.field == "app" { field = "sessionInfo" }
    }
  }
}

/// Sign-ins with fictional numbers that were refused since the start because an account has proven the number for real.
final class FictionalRefusals: Sendable {
  private let counted = Atomic<Int>(0)

  var total: Int { counted.load(ordering: .relaxed) }

  func count() { counted.add(1, ordering: .relaxed) }
}
