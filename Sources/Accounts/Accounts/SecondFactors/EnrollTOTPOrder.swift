import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.finishSecondFactor` of an authenticator with an ID token: enrols the factor by its first code.
struct EnrollTOTPOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let caller: CommandCaller
  private let enrollment: Enrollment
  private let mail: EnrollmentMail
  /// IDs of the ticket that the session info may be.
  private let ids: [RecordID]
  private let code: Secret
  private let displayName: String?
  private let arrivedAt: UnixTime
  private let seal: ReplySeal
  private let reader: CommandReader
  private let sharedSecrets: SharedSecretSealer
  private let random = RandomValues()
  private let seals = Once<[UInt8], SealedSharedSecret>()

  init(
    _ command: FinishSecondFactor, _ caller: CommandCaller, _ code: Secret, _ envelope: Envelope, at now: UnixTime,
    _ parts: AccountParts
  ) throws(APIError) {
    reader = parts.reader
    sharedSecrets = parts.sharedSecrets
    let project = try reader.project(command.project)
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    guard let field = command.sessionInfo else { throw .missingOffer }
    let session = try reader.open(field, "sessionInfo", of: envelope, replyKey: command.replyKey)
    guard !session.isEmpty else { throw .missingOffer }
    ids = reader.tickets.ids(of: session)
    displayName = try ProfileChange.name(command.displayName)
    mail = EnrollmentMail(mailLinks: parts.mailLinks)
    enrollment = Enrollment(kind: .totp, project: project, reader: reader)
    arrivedAt = now
    fingerprints = reader.fingerprints(
      of: command, ["totp", project.id, caller.text, session.reveal(), code.reveal(), command.displayName ?? ""])
    (self.caller, self.code) = (caller, code)
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    for id in ids { keys.add(record: id) }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    if let refusal = enrollment.refusal(of: holder, arrivedAt: arrivedAt) { return CommandAnswer(refusal) }
    let found: OpenTicket<OfferedSecret>? = try reader.tickets.find(
      ids, .sharedSecret, project: enrollment.project.id, in: set)
    guard let found, found.content.isOffered(to: holder.account) else { return CommandAnswer(.unknownOffer) }
    let totp = TOTP(secret: found.content.secret)
    guard let step = totp.step(of: code.reveal(), at: set.now, after: nil) else {
      return CommandAnswer(.wrongTOTPCode(left: try found.ticket.countWrongCode(in: &set)))
    }
    var factor = SecondFactor(.totp, enrollmentID: random.enrollmentID, enrolledAt: set.now)
    factor.displayName = displayName
    factor.secret = try sealed(totp.secret, of: holder.account)
    factor.lastStep = step
    try set.remove(found.ticket.id)
    let enrolled = try enrollment.add(
      factor, to: holder, telling: mail, eventID: random.eventID, cause: envelope, in: &set)
    return try answers.tokens(enrolled, isNewUser: false, at: set.now)
  }

  private func sealed(_ secret: [UInt8], of account: AccountRecord) throws(StoreError) -> SealedSharedSecret {
    try seals.value(of: secret) { () throws(StoreError) in
      guard let sealed = sharedSecrets.seal(secret, of: account.id, random.enrollmentID) else {
        throw StoreError(.content, "a shared secret cannot be sealed")
      }
      return sealed
    }
  }

  private var answers: SignInAnswers { SignInAnswers(reader: reader, seal: seal) }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try answers.again(AnswerNote(note), project: enrollment.project.id, in: set)
  }
}

extension APIError {
  static let missingOffer = APIError(
    .missingSessionInfo, "the sessionInfo of the shared secret is missing", field: "sessionInfo")
  static let missingTOTPCode = APIError(
    .missingCode, "the code is missing: send the one that the authenticator shows", field: "code")

  static func wrongTOTPCode(left: Int) -> APIError {
    APIError(
      .invalidCode, "the code is wrong, used or too old: send the one that the authenticator shows now", field: "code",
      attemptsLeft: left)
  }
}
