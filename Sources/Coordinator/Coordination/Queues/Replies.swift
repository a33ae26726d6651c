import CountersignMessages
import CountersignTelemetry
import CrashMarks

/// Answer to a command.
struct CommandAnswer: Sendable, Hashable {
  var type: MessageType
  var body: [UInt8]
  /// The code of the error; absent when the command succeeded.
  var error: APIErrorCode?
  /// Label for the metrics, when the code is not specific enough.
  var label: String?
  /// Whether the same command may succeed later. Its side effects remain all the same: anything it counted or ended
  /// stays so when it is carried out again.
  var isTransient = false
}

extension CommandAnswer {
  /// Code in the metrics.
  var metricCode: String { label ?? error?.rawValue ?? "OK" }
}

extension CommandAnswer {
  init(_ body: some MessageBody) throws(ContractProblem) {
    self.init(type: Swift.type(of: body).type, body: try body.json(), error: nil)
  }

  init(_ started: VerificationStarted) {
    self.init(type: VerificationStarted.type, body: started.fastJSON, error: nil)
  }

  init(_ approved: VerificationApproved) {
    self.init(type: VerificationApproved.type, body: approved.fastJSON, error: nil)
  }

  /// A recorded answer, counted under its original code.
  init(type: MessageType, again body: [UInt8]) {
    var code: APIErrorCode?
    if type == ErrorReply.type {
      do throws(ContractProblem) {
        code = try ErrorReply(json: body).error.code
      } catch {
        // Written by another version; the requester gets it unchanged.
        code = .internalError
      }
    }
    self.init(type: type, body: body, error: code)
  }

  /// An error is always answered, so this cannot fail: its texts are ours and short.
  init(_ error: APIError) {
    let body: [UInt8]
    do throws(ContractProblem) {
      body = try ErrorReply(error).json()
    } catch {
      body = Array(#"{"error":{"code":"INTERNAL_ERROR","message":"the error could not be written"}}"#.utf8)
    }
    // Distinguished from faults of the coordinator, which have to wake an operator.
    let label = error.reason == APIError.tooOld ? APIError.tooOld : nil
    self.init(type: ErrorReply.type, body: body, error: error.code, label: label, isTransient: error.retryAfter != nil)
  }
}

/// Makes the reply to a command.
enum ReplyMaker {
  /// - Parameters:
  ///   - queue: the command's `reply_to`.
  ///   - messageID: the command's `message_id`.
  ///   - correlationID: the command's.
  ///   - trace: the trace that the command belongs to.
  static func reply(
    _ answer: CommandAnswer, to queue: String, messageID: String, correlationID: String?, trace: TraceContext?,
    at now: UnixTime
  ) -> OutgoingMessage {
    let id = messageID + suffix
    return OutgoingMessage(
      duty: .reply, exchange: Topology.Exchanges.direct, routingKey: queue, type: answer.type.text,
      messageID: id.utf8.count <= MessageLimits.maxShortStringBytes ? id : MessageID.make(),
      correlationID: correlationID, causationID: messageID, traceparent: trace?.child().traceparent, timestamp: now,
      discardAfter: nil, body: answer.body)
  }

  private static let suffix = ".reply"
}

// Maps refusals to error codes. The codes are a fixed list that app SDKs map; the message distinguishes what the code
// does not.
//
// ```
// a check of a code that …                            gets
// is wrong                                            INVALID_CODE
// is the fifth wrong one, or comes later              TOO_MANY_ATTEMPTS_TRY_LATER
// is too late                                         SESSION_EXPIRED
// was canceled, or never sent                         SESSION_EXPIRED
// was used before                                     SESSION_EXPIRED, CODE_USED
// belongs to no verification                          INVALID_SESSION_INFO
// belongs to one of another app, purpose or subject   INVALID_SESSION_INFO
// ```
//
// Only the right code learns that it was used. Any other code for an approved verification gets the answer of an
// expired one, so that a guess does not reveal that another person has signed in. A canceled verification and one whose
// SMS was not sent require the same of the app as an expired one: to start again.
extension APIError {
  /// Answers a check or a cancellation that a verification refuses.
  init(_ refusal: VerificationRefusal) {
    switch refusal {
    case .wrongCode(let left):
      self.init(
        .invalidCode, "the code is wrong; \(left) more \(left == 1 ? "try" : "tries")", field: "code",
        attemptsLeft: left)
    case .tooManyAttempts:
      self.init(.tooManyAttempts, "the code was wrong too often and is no longer accepted: start a new verification")
    case .expired:
      self.init(.sessionExpired, "the code has expired: start a new verification", field: "verificationID")
    case .canceled:
      self.init(.sessionExpired, "the verification was canceled: start a new one", field: "verificationID")
    case .notSent(let failure):
      self.init(
        .sessionExpired, "no message with the code could be sent (\(failure.code)): start a new verification",
        field: "verificationID")
    case .alreadyUsed:
      self.init(
        .sessionExpired,
        "the number was verified with this code already, and a code is accepted once: start a new verification",
        field: "verificationID", reason: Self.codeUsed)
    case .sharedChecksUsed(let wait):
      let seconds = LimitRefusal.seconds(wait)
      self.init(
        .tooManyAttempts,
        "the code was wrong too often for those who did not ask for it first: start a new verification in \(seconds) s",
        field: "verificationID", retryAfter: seconds)
    }
  }

  /// Answers a command that reached a limit: budgets are a matter of quota, the others of trying too often.
  init(_ refusal: LimitRefusal) {
    self.init(
      refusal.scope.isBudget ? .quotaExceeded : .tooManyAttempts,
      "\(refusal.text): try again in \(refusal.waitSeconds) s", field: refusal.scope.field,
      retryAfter: refusal.waitSeconds, reason: refusal.scope.reason)
  }

  /// Reason of a code that is right but used.
  static let codeUsed = "CODE_USED"

  /// Answers a further requester when a verification has its maximum of requesters; the code stays valid for those.
  static func tooManyRequesters(wait: Duration) -> APIError {
    let seconds = LimitRefusal.seconds(wait)
    return APIError(
      .tooManyAttempts, "this number is being verified for too many requesters: try again in \(seconds) s",
      field: "phoneNumber", retryAfter: seconds, reason: "TOO_MANY_REQUESTERS")
  }

  /// - Parameter field: the field in which the verification differs from the command.
  static func otherVerification(_ field: String) -> APIError {
    APIError(
      .invalidSessionInfo, "there is no such verification of this \(field): give back the code where it was asked for",
      field: field)
  }

  static let unknownVerification = APIError(
    .invalidSessionInfo, "there is no such verification: start one, and give back its verificationID",
    field: "verificationID")
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
  static let reusedMessageID = APIError(
    .invalidArgument, "this message_id was used for another message: give every message an ID of its own",
    field: "message_id", reason: "MESSAGE_ID_REUSED")
  static let notStored = APIError(
    .internalError, "the command could not be carried out, and nothing was changed", retryAfter: 30)
  static let crashed = APIError(
    .internalError, "the command ends the process that reads it, and was given up: do not send it again",
    reason: CrashMarks.reason)
}
