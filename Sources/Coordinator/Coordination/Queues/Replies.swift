import CountersignMessages
import CountersignTelemetry
import CrashMarks
import SQLite

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
  init(_ body: some MessageBody) throws(DatabaseError) {
    self.init(type: Swift.type(of: body).type, body: try body.written(), error: nil)
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

// Answers that belong to no single flow.
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
  static let reusedMessageID = APIError(
    .invalidArgument, "this message_id was used for another message: give every message an ID of its own",
    field: "message_id", reason: "MESSAGE_ID_REUSED")
  static let notStored = APIError(
    .internalError, "the command could not be carried out, and nothing was changed", retryAfter: 30)
  static let crashed = APIError(
    .internalError, "the command ends the process that reads it, and was given up: do not send it again",
    reason: CrashMarks.reason)
}
