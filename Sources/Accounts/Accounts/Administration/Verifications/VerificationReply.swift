import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The coordinator's answer to a command of a service.
struct VerificationReply: Report {
  static let types = [
    VerificationStarted.type, VerificationApproved.type, VerificationStatus.type, VerificationCanceled.type,
    ErrorReply.type,
  ]

  fileprivate struct Content {
    let app: String
    let purpose: VerificationPurpose?
    let answer: CommandAnswer
  }

  private let id: RecordID
  private let content: Result<Content, APIError>

  static func kind(_ type: MessageType) -> ReportKind {
    AwaitedReply.kind(type) { received throws(ContractProblem) in try VerificationReply(received) }
  }

  private init?(_ received: ReceivedReport) throws(ContractProblem) {
    guard let id = received.waiting(VerificationCall.kind) else { return nil }
    try received.requireCoordinator()
    self.id = id
    if let refusal = try received.refusal() {
      content = .failure(refusal)
    } else {
      content = .success(try Content(received.envelope.type, received.body))
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) { keys.add(record: id) }

  /// Without a record no command waits. The coordinator repeats its answer when the command is repeated.
  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard let call = try VerificationCall.find([id], in: set), cause.causationID == call.messageID else { return }
    let answer: CommandAnswer
    switch content {
    case .failure(let error): answer = CommandAnswer(APIError(refusalOfVerification: error))
    case .success(let content):
      guard content.purpose == .verification, call.app.map({ $0 == content.app }) ?? true else { return }
      answer = content.answer
    }
    try call.answer(set.now < call.deadline ? answer : CommandAnswer(.noVerificationReply), in: &set)
  }
}

extension VerificationReply.Content {
  fileprivate init(_ type: MessageType, _ body: [UInt8]) throws(ContractProblem) {
    var body = body
    switch type {
    case VerificationStarted.type:
      let started = try VerificationStarted(json: body)
      (app, purpose) = (started.app, started.purpose)
    case VerificationStatus.type:
      let status = try VerificationStatus(json: body)
      (app, purpose) = (status.app, status.purpose)
    case VerificationCanceled.type:
      let canceled = try VerificationCanceled(json: body)
      (app, purpose) = (canceled.app, canceled.purpose)
    default:
      var approved = try VerificationApproved(json: body)
      (app, purpose) = (approved.app, approved.purpose)
      // Between accounts and the coordinator only.
      approved.subject = nil
      body = try approved.json()
    }
    answer = CommandAnswer(type: type, body: body)
  }
}

extension APIError {
  static let malformedIdempotencyKey = APIError(
    .invalidArgument,
    "an idempotency key has 1 to \(StartServiceVerification.maxIdempotencyKeyBytes) printable ASCII characters",
    field: "idempotencyKey")
  static let unknownVerification = APIError(
    .invalidSessionInfo, "the service account has started no such verification: start one, and send its verificationID",
    field: "verificationID")
  static let noVerificationReply = APIError(
    .internalError, "the coordinator did not answer in time: try again, with the same idempotency key if there is one",
    retryAfter: 5, reason: "VERIFICATION_NOT_ANSWERED")

  /// Fields that a service fills in and the coordinator judges.
  private static let fieldsOfServices: Set<String> = [
    "phoneNumber", "region", "languageCode", "app", "client.ip", "client.instance",
  ]

  /// The coordinator's refusal as the service gets it: the fields of the commands have the same names.
  init(refusalOfVerification error: APIError) {
    switch error.code {
    // Another one's is like none.
    case .invalidSessionInfo: self = .unknownVerification
    case .invalidArgument where error.field == "message_id":
      self = APIError(
        .invalidArgument, "the idempotency key was used for another request: give every request a key of its own",
        field: "idempotencyKey", reason: "IDEMPOTENCY_KEY_REUSED")
    // The command has no variables: the service can choose another app, or have this one's configuration corrected.
    case .invalidArgument where error.reason == "MISSING_VARIABLE":
      self = APIError(
        .invalidArgument,
        "app has an SMS that needs \(error.field ?? "variables"), and HTTP gives none: give it a value in 'variables' of the app, in the coordinator's configuration",
        field: "app", reason: error.reason)
    case .invalidArgument where !Self.fieldsOfServices.contains(error.field ?? ""):
      self = APIError(
        .internalError,
        "the coordinator does not accept the command (\(error.message)): compare keys and configurations",
        reason: error.reason ?? "VERIFICATION_REFUSED")
    default: self = error
    }
  }
}
