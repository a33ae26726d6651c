import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The coordinator's answer to the start of a second factor.
struct PhoneStartReply: Report {
  private let id: RecordID
  private let content: Result<VerificationStarted, APIError>
  private let reader: CommandReader

  static func kind(_ type: MessageType, _ reader: CommandReader) -> ReportKind {
    AwaitedReply.kind(type) { received throws(ContractProblem) in try PhoneStartReply(received, reader) }
  }

  private init?(_ received: ReceivedReport, _ reader: CommandReader) throws(ContractProblem) {
    guard let id = received.waiting(PhoneStart.kind), received.envelope.causationID == id.text else { return nil }
    try received.requireCoordinator()
    (self.id, self.reader) = (id, reader)
    if let refusal = try received.refusal() {
      content = .failure(refusal)
    } else {
      content = .success(try VerificationStarted(json: received.body))
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) { keys.add(record: id) }

  /// Without a record no command waits. The coordinator repeats its answer when the command is repeated.
  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard let start = try PhoneStart.find([id], in: set), isAnswer(to: start) else { return }
    if case .success = content { try countCode(of: start, in: &set) }
    try start.answer(set.now < start.deadline ? answer(to: start) : CommandAnswer(.noStartReply), in: &set)
  }

  private func countCode(of start: PhoneStart, in set: inout WorkingSet) throws(StoreError) {
    let codes = reader.startedCodes(ofAccount: start.account, project: start.project)
    var keys = StoreKeys()
    try codes.addKeys(to: &keys, at: set.now)
    try set.require(keys)
    try codes.count(in: &set)
  }

  private func isAnswer(to start: PhoneStart) -> Bool {
    guard case .success(let started) = content else { return true }
    return started.app == start.app && started.purpose == start.purpose
  }

  private func answer(to start: PhoneStart) throws(StoreError) -> CommandAnswer {
    switch content {
    case .failure(let error): return CommandAnswer(APIError(refusalOfStart: error))
    case .success(var started):
      // A first factor alone tells its holder no more of the number than before.
      if start.purpose == .secondFactorSignIn { started.phoneNumber = SecondFactor.masked(started.phoneNumber) }
      var reply = SecondFactorStarted()
      reply.verification = started
      return try CommandAnswer(reply)
    }
  }
}

extension APIError {
  static let noStartReply = APIError(
    .internalError, "the code could not be sent in time: try again", retryAfter: 5, reason: "START_NOT_ANSWERED")

  /// The coordinator's refusal as the requester gets it: the fields of the two commands have the same names.
  init(refusalOfStart error: APIError) {
    self = error
    // The input of users never breaks the contract, so keys or configurations of the two services differ.
    guard error.code == .invalidArgument else { return }
    self = APIError(
      .internalError, "the coordinator does not accept the start (\(error.message)): compare keys and configurations",
      reason: error.reason ?? "START_REFUSED")
  }
}
