import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.startSecondFactor` by phone: has the coordinator send a code, and waits for its answer.
struct StartPhoneFactorOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  private let app: String
  private let asker: SecondFactorAsker
  /// Number that is to be enrolled.
  private let number: String?
  /// Factor to sign in with.
  private let enrollmentID: String?
  private let arrivedAt: UnixTime
  private let ids: [RecordID]
  private let start: StartVerification
  private let proof: OpenedProof?
  private let address: ClientAddress?
  private let parts: AccountParts

  init(
    _ command: StartSecondFactor, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    let reader = parts.reader
    project = try reader.project(command.project)
    app = try project.appOfCode(command.app)
    asker = try SecondFactorAsker(
      idToken: command.idToken, pendingCredential: command.pendingCredential, project: project, envelope,
      replyKey: command.replyKey, at: now, reader)
    (number, enrollmentID) = (command.phoneNumber, command.enrollmentID)
    proof = try command.proof.map { proof throws(APIError) in
      try OpenedProof(proof, of: envelope, replyKey: command.replyKey, reader)
    }
    address = try ClientAddress(of: command.client)
    var start = StartVerification(
      phoneNumber: "", app: app, languageCode: command.languageCode, client: command.client)
    start.fictionalOnly = command.fictionalOnly
    self.start = start
    arrivedAt = now
    ids = PhoneStart.ids(of: envelope, reader.hashes)
    self.parts = parts
    fingerprints = reader.fingerprints(
      of: command,
      [project.id, app, command.kind.rawValue, asker.part, number ?? "", enrollmentID ?? ""])
  }

  private var reader: CommandReader { parts.reader }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    asker.addKeys(to: &keys)
    for id in ids { keys.add(record: id) }
  }

  // MARK: Carrying out

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let target: Target
    switch try self.target(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): target = found
    }
    guard let deadline = PhoneCheck.deadline(of: envelope, at: set.now) else { return CommandAnswer(.requesterGone) }
    let limits = reader.limits(Limit.secondFactorStarts, of: LimitSubject(project: project.id, address: address))
    let benches = [limits, reader.startedCodes(ofAccount: target.account, project: project.id)]
    var keys = StoreKeys()
    for bench in benches { try bench.addKeys(to: &keys, at: set.now) }
    try set.require(keys)
    for bench in benches {
      if let refusal = try bench.refusal(in: set) { return reader.refuse(refusal, in: &set) }
    }
    try limits.count(in: &set)
    try begin(target, envelope, until: deadline, in: &set)
    return nil
  }

  private func begin(
    _ target: Target, _ envelope: Envelope, until deadline: UnixTime, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let id = ids.first else { throw StoreError.unreadableBody }
    let waiting = PhoneStart(
      id: id, app: app, purpose: target.purpose, fingerprint: fingerprint, deadline: deadline, project: project.id,
      account: target.account, envelope: envelope)
    try waiting.store(in: &set)
    var start = start
    start.phoneNumber = target.number
    start.purpose = target.purpose
    start.subject = target.account.text
    start.proof = try proof?.sealed(for: app, messageID: id.text, parts.sealer)
    try set.send(
      .command(
        start, id: id.text, correlationID: waiting.correlationID, replyTo: parts.replyQueue, cause: envelope,
        deadline: deadline, at: set.now))
  }

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    try PhoneStart.renew(ids, envelope, in: &set)
  }

  // MARK: Whose number

  private struct Target {
    let account: RecordID
    let number: String
    let purpose: VerificationPurpose
  }

  private func target(in set: WorkingSet) throws(StoreError) -> Result<Target, APIError> {
    switch asker {
    case .user(let caller):
      try caller.holder(in: set, reader.rules.sessions).flatMap { holder in
        Result { () throws(APIError) in try newFactor(of: holder) }
      }
    case .pending(let ids, _): try factor(of: ids, in: set)
    }
  }

  private func newFactor(of holder: IDTokenCheck.Holder) throws(APIError) -> Target {
    let enrollment = Enrollment(kind: .phone, project: project, reader: reader)
    if let refusal = enrollment.refusal(of: holder, arrivedAt: arrivedAt) { throw refusal }
    guard let number, !number.isEmpty else { throw .missingNumberOfFactor }
    let read = try AccountFields.number(number, "phoneNumber")
    if let refusal = holder.account.refusal(ofFactor: read) { throw refusal }
    return Target(account: holder.account.id, number: read, purpose: .secondFactorEnrollment)
  }

  private func factor(of ids: [RecordID], in set: WorkingSet) throws(StoreError) -> Result<Target, APIError> {
    do throws(APIError) {
      try reader.requireMethod(.secondFactor(.phone), of: project.id)
    } catch {
      return .failure(error)
    }
    guard let enrollmentID, !enrollmentID.isEmpty else { return .failure(.missingEnrollmentID) }
    return try reader.tickets.pendingSignIn(ids, project: project.id, in: set).flatMap { open in
      guard let number = open.account.secondFactor(enrollmentID)?.phoneNumber else {
        return .failure(.enrollmentNotFound)
      }
      return .success(Target(account: open.account.id, number: number, purpose: .secondFactorSignIn))
    }
  }
}

extension APIError {
  fileprivate static let missingNumberOfFactor = APIError(
    .missingPhoneNumber, "the number that is to be enrolled is missing", field: "phoneNumber")
}
