import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

struct VerificationFlow: Flow {
  private let rules: CoordinatorRules
  private let service: VerificationService
  private let starts: StartDecoder
  private let keys: KeyRing
  private let eraser: NumberEraser
  private let events: VerificationEvents
  let reports: [ReportKind]

  init(
    _ rules: CoordinatorRules, service: VerificationService, starts: StartDecoder, keys: KeyRing, eraser: NumberEraser
  ) {
    self.rules = rules
    self.service = service
    self.starts = starts
    self.keys = keys
    self.eraser = eraser
    events = VerificationEvents(rules, metrics: service.metrics)
    reports = VerificationReports(rules, records: service.records, metrics: service.metrics).kinds
  }

  var commands: [CommandKind] {
    [
      CommandKind(StartVerification.self, isRefusedLate: true) {
        [starts] command, envelope, now throws(APIError) in
        try starts.order(command, envelope, at: now)
      },
      CommandKind(CheckVerification.self, answerIsKeptFor: CheckOrder.answerIsKeptFor(rules)) {
        [service, keys] command, envelope, _ throws(APIError) in
        try CheckOrder(command, envelope, keys, service)
      },
      CommandKind(CancelVerification.self) { [service] command, _, _ throws(APIError) in
        CancelOrder(
          verificationID: command.verificationID,
          expected: ExpectedVerification(app: command.app, purpose: command.purpose, subject: command.subject),
          service: service)
      },
      CommandKind(GetVerificationStatus.self, isLook: true) { [service] command, _, _ throws(APIError) in
        StatusOrder(
          verificationID: command.verificationID,
          expected: ExpectedVerification(app: command.app, purpose: command.purpose, subject: command.subject),
          service: service)
      },
      CommandKind(FindVerifications.self, users: .operators, isLook: true) {
        [starts, service] command, _, _ throws(APIError) in
        try FindOrder(command, number: starts.e164(command.phoneNumber), service)
      },
      CommandKind(ForgetNumber.self) { [starts, eraser] command, envelope, _ throws(APIError) in
        let number = try starts.e164(command.phoneNumber)
        let scope = try ErasureScope(command, number: number, envelope, eraser.rules)
        return ForgetNumberCommand(scope: scope, envelope: envelope, eraser: eraser)
      },
    ]
  }

  func measure(_ store: any Store) async throws(StoreError) {
    service.metrics.liveVerifications.set(Double(try await store.count(VerificationRecords.live)))
  }

  /// Deadlines are due records, so they survive every restart and cost nothing while they wait.
  var dueRecords: [DueRecords] {
    [DueRecords(VerificationRecords.kind, part: .endVerifications, end: end)]
  }

  @Sendable private func end(_ due: Record, in set: inout WorkingSet) throws(StoreError) {
    let before = try PhoneVerification(due)
    guard before.state.isLive else { return try set.remove(due.id) }
    var verification = before
    let actions = verification.apply(.deadlinePassed, at: set.now, under: rules.policy)
    try events.publish(actions, of: verification, cause: nil, in: &set)
    try service.records.put(verification, before: before, in: &set)
  }
}

extension MaintenancePart {
  static let endVerifications = MaintenancePart(rawValue: "end_verifications")
}

// MARK: - Cancellation and status

/// `verification.cancel`: ends a handle, and with the last one its verification.
struct CancelOrder: CommandOrder {
  /// ID of one of the verification's handles.
  let verificationID: String
  let expected: ExpectedVerification
  let service: VerificationService

  var fingerprint: [UInt8] {
    CommandFingerprint.hash(CancelVerification.type.text, [verificationID] + expected.parts)
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.records.addKeys(ofID: verificationID, to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard let before = try service.records.found(verificationID, in: set) else {
      return CommandAnswer(.unknownVerification)
    }
    if let field = expected.difference(from: before.verification) { return CommandAnswer(.otherVerification(field)) }
    var asked = before
    let actions = asked.verification.apply(
      .cancelRequested, through: asked.handle, at: set.now, under: service.rules.policy)
    if asked != before { try service.records.put(asked.verification, before: before.verification, in: &set) }
    return try service.answer(actions, on: asked, nil, envelope, in: &set)
  }
}

struct StatusOrder: CommandOrder {
  /// ID of one of the verification's handles.
  let verificationID: String
  let expected: ExpectedVerification
  let service: VerificationService

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard var asked = try service.records.found(verificationID, in: set) else {
      return CommandAnswer(.unknownVerification)
    }
    if let field = expected.difference(from: asked.verification) { return CommandAnswer(.otherVerification(field)) }
    // An expiry that the sweeper has not processed yet is shown here, and stored by the sweeper.
    _ = asked.verification.apply(.deadlinePassed, at: set.now, under: service.rules.policy)
    return try CommandAnswer(VerificationStatus(asked))
  }
}
