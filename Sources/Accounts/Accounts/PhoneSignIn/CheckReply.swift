import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// The coordinator's reply to the check of a code.
///
/// The first command that waits gets the effect of an approval; to the others, and to all that bring the code later, it
/// is used.
struct CheckReply: Report {
  private let id: RecordID
  private let project: String
  /// `nil` when the coordinator refused.
  private var approval: VerificationApproved?
  private var refusal: APIError?
  private let reader: CommandReader
  private let runs = SignInRuns()
  private let mail: EnrollmentMail

  static func kind(_ type: MessageType, _ parts: AccountParts) -> ReportKind {
    AwaitedReply.kind(type) { received throws(ContractProblem) in try CheckReply(received, parts) }
  }

  private static let separator: Character = "/"

  /// Project and check: the account that has the number is looked up together with the check.
  static func correlationID(of check: PhoneCheck) -> String {
    AwaitedReply.correlationID(PhoneCheck.kind, "\(check.project)\(separator)\(check.id.text)")
  }

  private init?(_ received: ReceivedReport, _ parts: AccountParts) throws(ContractProblem) {
    let envelope = received.envelope
    guard let place = AwaitedReply.place(in: envelope, PhoneCheck.kind) else { return nil }
    try received.requireCoordinator()
    let names = place.split(separator: Self.separator, maxSplits: 1)
    guard names.count == 2, envelope.causationID == String(names[1]),
      let id = RecordID(PhoneCheck.kind, String(names[1]))
    else { return nil }
    self.id = id
    project = String(names[0])
    reader = parts.reader
    mail = EnrollmentMail(mailLinks: parts.mailLinks)
    refusal = try received.refusal()
    if refusal == nil { approval = try VerificationApproved(json: received.body) }
  }

  // MARK: Keys

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(record: id)
    guard let approval else { return }
    if let used = UsedCredential(verification: approval.verificationID) { keys.add(record: used.id) }
    keys.add(holderOf: try AccountRecord.key(ofNumber: approval.phoneNumber, project: project))
    ProjectSettings.addKeys(of: project, to: &keys)
  }

  /// Has loaded at once what the waiting commands look up in turn.
  private func requireKeys(of check: PhoneCheck, in set: WorkingSet) throws(StoreError) {
    var keys = StoreKeys()
    try PhoneCheck.addAnswerKeys(of: check.waiting, to: &keys)
    if let approval {
      for command in check.waiting { try command.use.addKeys(to: &keys) }
      if let subject = check.subject, let account = RecordID(AccountRecord.kind, subject) {
        keys.add(record: account)
        keys.add(group: try SessionRecord.group(ofAccount: account))
      }
      if let holder = try AccountRecord.find(
        holderOf: AccountRecord.key(ofNumber: approval.phoneNumber, project: project), in: set)
      {
        keys.add(group: try SessionRecord.group(ofAccount: holder.id))
      }
    }
    try set.require(keys)
  }

  // MARK: Applying

  /// A check without a waiting command is gone: the coordinator repeats its answer when the code is brought again.
  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard var check = try PhoneCheck.find(id, in: set), check.project == project, isAnswer(to: check) else { return }
    try requireKeys(of: check, in: set)
    try check.answerLate(in: &set)
    for command in check.waiting { try command.answer(answer(to: command, of: check, in: &set), in: &set) }
    check.waiting = []
    try check.store(in: &set)
  }

  private func isAnswer(to check: PhoneCheck) -> Bool {
    guard let approval else { return true }
    return approval.verificationID == check.verificationID && approval.purpose == check.purpose
      && approval.subject == check.subject && check.app.map { $0 == approval.app } ?? true
  }

  private func answer(
    to command: PhoneCheck.Waiting, of check: PhoneCheck, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    guard let approval else { return CommandAnswer(refusal.map(APIError.init(refusalOfCheck:)) ?? .noCheckReply) }
    // A command without an app takes any of its project.
    guard reader.rules.projects.current[check.project]?.app(id: approval.app) != nil,
      let used = UsedCredential(verification: approval.verificationID)
    else { return CommandAnswer(.unknownSession) }
    if try used.isUsed(in: set) { return CommandAnswer(.codeUsed) }
    guard set.now - approval.approvedAt <= PhoneCheck.maxApprovalAge else {
      return CommandAnswer(.approvalTooOld)
    }
    let proven = ProvenNumber(
      number: approval.phoneNumber, app: approval.app, isFictional: approval.testNumber, source: .code)
    let outcome = try outcome(of: proven, for: command, project: check.project, in: &set)
    if outcome.usesProof {
      try used.store(until: max(set.now, approval.approvedAt) + PhoneCheck.usedCodeRetention, in: &set)
    }
    return outcome.answer
  }

  private func outcome(
    of proven: ProvenNumber, for command: PhoneCheck.Waiting, project: String, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome {
    switch command.use {
    case .signIn(let request):
      try SignIn(
        project: project, factor: proven, request: request, cause: command.envelope, reader: reader, runs: runs
      ).carryOut(in: &set)
    case .secondFactor(let request):
      try PhoneFactor(
        project: project, proven: proven, request: request, cause: command.envelope, reader: reader, runs: runs,
        mail: mail
      ).carryOut(in: &set)
    }
  }
}
