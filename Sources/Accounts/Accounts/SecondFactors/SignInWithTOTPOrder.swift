import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.finishSecondFactor` of an authenticator with a pending credential: begins the session of both factors.
struct SignInWithTOTPOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  /// IDs of the ticket that the pending credential may be.
  private let ids: [RecordID]
  private let enrollmentID: String
  private let code: Secret
  private let seal: ReplySeal
  private let runs = SignInRuns()
  private let reader: CommandReader
  private let factors: TOTPFactors

  init(
    _ command: FinishSecondFactor, _ pending: (ids: [RecordID], text: String), _ code: Secret, _ envelope: Envelope,
    _ parts: AccountParts, _ factors: TOTPFactors
  ) throws(APIError) {
    reader = parts.reader
    project = try reader.project(command.project)
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    guard let enrollmentID = command.enrollmentID, !enrollmentID.isEmpty else { throw .missingEnrollmentID }
    fingerprints = reader.fingerprints(
      of: command, ["totp", project.id, pending.text, enrollmentID, code.reveal()])
    ids = pending.ids
    (self.enrollmentID, self.code, self.factors) = (enrollmentID, code, factors)
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    for id in ids { keys.add(record: id) }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    do throws(APIError) {
      try reader.requireMethod(.totp, of: project.id)
    } catch {
      return CommandAnswer(error)
    }
    let open: OpenPendingSignIn
    switch try reader.tickets.pendingSignIn(ids, project: project.id, in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): open = found
    }
    guard let factor = open.account.secondFactor(enrollmentID), factor.kind == .totp else {
      return CommandAnswer(.enrollmentNotFound)
    }
    return try decide(factor, open, envelope, in: &set)
  }

  private func decide(
    _ factor: SecondFactor, _ open: OpenPendingSignIn, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    let wrongCodes = WrongCodes(of: factor, open.account, reader)
    var keys = StoreKeys()
    try wrongCodes.addKeys(to: &keys, at: set.now)
    try set.require(keys)
    if let refusal = try wrongCodes.refusal(in: set) { return reader.refuse(refusal, in: &set) }
    guard let totp = factors.open(factor, of: open.account) else { return CommandAnswer(.unusableFactor) }
    guard let step = totp.step(of: code.reveal(), at: set.now, after: factor.lastStep) else {
      try wrongCodes.count(in: &set)
      return CommandAnswer(.wrongTOTPCode(left: try open.ticket.countWrongCode(in: &set)))
    }
    var used = factor
    used.lastStep = step
    var account = open.account
    account.secondFactors = account.secondFactors.map { $0.enrollmentID == used.enrollmentID ? used : $0 }
    return try open.finish(account, with: used, reader, runs, seal, cause: envelope, in: &set)
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try SignInAnswers(reader: reader, seal: seal).again(AnswerNote(note), project: project.id, in: set)
  }
}

/// TOTP factors that a code is given of.
struct TOTPFactors: Sendable {
  private let sharedSecrets: SharedSecretSealer
  private let logger: Logger
  /// Names of missing keys that the log has: one line of each, and not of each sign-in.
  private let missed = Once<String, Bool>()

  init(_ sharedSecrets: SharedSecretSealer, _ logger: Logger) {
    (self.sharedSecrets, self.logger) = (sharedSecrets, logger)
  }

  /// `nil` for one whose secret is sealed under a key that is gone.
  func open(_ factor: SecondFactor, of account: AccountRecord) -> TOTP? {
    if let totp = sharedSecrets.open(factor, of: account.id) { return totp }
    let key = factor.secret?.sealedUnder ?? ""
    _ = missed.value(of: key) {
      logger.error(
        "the secret of a second factor cannot be opened, so nobody signs in with those of its token key",
        [
          "tokenKey": key,
          .hint: "put the key back into tokenKeysFile, or withdraw the second factors of users who ask for it",
        ])
      return true
    }
    return nil
  }
}

/// Limit of guesses at the codes of a TOTP factor: too many within an hour lock it for an hour, the right one included.
struct WrongCodes: Sendable {
  private static let lockedFor = Duration.seconds(3600)

  private let figure: Int
  private let hour: SlotCounter
  private let locked: SlotCounter

  init(of factor: SecondFactor, _ account: AccountRecord, _ reader: CommandReader) {
    let limit = Limit.wrongTOTPCodes
    var subject = LimitSubject(project: account.project)
    subject.secondFactor = "\(account.id.text)/\(factor.enrollmentID)"
    figure = reader.rules.limits[limit]
    hour = .hour(limit, of: subject, reader.hashes)
    locked = SlotCounter(
      reader.hashes.hash("locked TOTP factor", subject.parts(limit.parts)), slot: .seconds(60), window: Self.lockedFor)
  }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try hour.addKeys(to: &keys, at: now)
    try locked.addKeys(to: &keys, at: now)
  }

  func refusal(in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    try locked.wait(limit: 1, in: set).map { LimitRefusal(limit: .wrongTOTPCodes, wait: $0) }
  }

  func count(in set: inout WorkingSet) throws(StoreError) {
    let before = try hour.count(in: set)
    try hour.count(in: &set)
    if before + 1 >= Int64(figure) { try locked.count(in: &set) }
  }
}

extension APIError {
  static let unusableFactor = APIError(
    .internalError,
    "the secret of the second factor cannot be opened: compare tokenKeysFile, or have an administrator withdraw it",
    field: "enrollmentID", reason: "UNKNOWN_TOKEN_KEY")
}
