import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Secret of a TOTP factor that its user has not given a code of yet: content of a ticket.
struct OfferedSecret: Sendable {
  /// Time for which the factor can be enrolled.
  static let lifetime = Duration.seconds(600)

  let account: RecordID
  /// Distinguishes the account from a later one with the same ID.
  let accountCreatedAt: UnixTime
  let secret: [UInt8]

  init(_ secret: [UInt8], for account: AccountRecord) {
    self.secret = secret
    self.account = account.id
    accountCreatedAt = account.createdAt
  }

  func isOffered(to account: AccountRecord) -> Bool {
    self.account == account.id && accountCreatedAt == account.createdAt
  }
}

extension OfferedSecret: FieldCoded {
  init(_ fields: inout FieldCoder, _ offered: Self?) throws(UnreadableFields) {
    guard let id = RecordID(AccountRecord.kind, try fields.required(1, offered?.account.text)) else {
      throw UnreadableFields()
    }
    account = id
    accountCreatedAt = try fields.required(2, offered?.accountCreatedAt)
    secret = try fields.required(3, offered?.secret)
  }
}

/// `account.startSecondFactor` of an authenticator: makes the secret of a factor that is to be enrolled.
///
/// The secret leaves accounts sealed to the key of the reply, and is not recorded: the note has the seed of its ticket.
struct StartTOTPOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let caller: CommandCaller
  private let enrollment: Enrollment
  private let arrivedAt: UnixTime
  private let seal: ReplySeal
  private let reader: CommandReader
  private let secret = SecureRandom.bytes(TOTP.secretLength)
  private let random = RandomValues()
  private let tickets = Once<RecordID, String>()
  private let replies = Once<SharedSecret, SecretField>()

  init(
    _ command: StartSecondFactor, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    reader = parts.reader
    let project = try reader.project(command.project)
    seal = try reader.seal(command.replyKey, envelope, SecondFactorStarted.type)
    let asker = try SecondFactorAsker(
      idToken: command.idToken, pendingCredential: command.pendingCredential, project: project, envelope,
      replyKey: command.replyKey, at: now, reader)
    guard case .user(let caller) = asker else { throw .totpHasNoStart }
    self.caller = caller
    enrollment = Enrollment(kind: .totp, project: project, reader: reader)
    arrivedAt = now
    fingerprints = reader.fingerprints(of: command, ["totp", project.id, asker.part])
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    if let refusal = enrollment.refusal(of: holder, arrivedAt: arrivedAt) { return CommandAnswer(refusal) }
    // Each enrolment mails its owner.
    let limits = reader.limits(
      [.totpSecrets],
      of: LimitSubject(project: enrollment.project.id, account: holder.account.id.text))
    var keys = StoreKeys()
    try limits.addKeys(to: &keys, at: set.now)
    try set.require(keys)
    if let refusal = try limits.refusal(in: set) { return reader.refuse(refusal, in: &set) }
    try limits.count(in: &set)
    let text = try reader.tickets.text(seed: random.ticketSeed)
    let ticket = try reader.tickets.issue(
      NewTicket(
        text: text, purpose: .sharedSecret, content: OfferedSecret(secret, for: holder.account),
        project: enrollment.project.id, lifetime: OfferedSecret.lifetime), seals: tickets, in: &set)
    return try answer(text, secret, until: ticket.expiresAt)
  }

  private func answer(
    _ text: TicketText, _ secret: [UInt8], until end: UnixTime
  ) throws(StoreError) -> CommandAnswer {
    let shared = SharedSecret(
      key: Base32.encode(secret), sessionInfo: text.secret.reveal(), codeLength: TOTP.digits, period: TOTP.period,
      expiresAt: end)
    var reply = SecondFactorStarted()
    reply.sharedSecret = try replies.value(of: shared) { () throws(StoreError) in
      let text: Secret
      do throws(ContractProblem) {
        text = try shared.text()
      } catch {
        throw StoreError(.content, "a shared secret cannot be written: \(error)")
      }
      return try seal.seal(text)
    }
    var answer = try CommandAnswer(reply)
    answer.note = try AnswerNote.sharedSecret(seed: text.seed).bytes
    return answer
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    guard case .sharedSecret(let seed) = try AnswerNote(note) else { throw StoreError.unreadableBody }
    for text in reader.tickets.texts(seed: seed) {
      let found: OpenTicket<OfferedSecret>? = try reader.tickets.find(
        [text.id], .sharedSecret, project: enrollment.project.id, in: set)
      if let found { return try answer(text, found.content.secret, until: found.ticket.expiresAt) }
    }
    return CommandAnswer(.unknownOffer)
  }
}

extension APIError {
  static let totpHasNoStart = APIError(
    .invalidArgument, "a code of an authenticator needs no start: send it to account.finishSecondFactor",
    field: "pendingCredential", reason: "NO_START")
  static let unknownOffer = APIError(
    .invalidSessionInfo, "there is no such shared secret, or it is used or too old: start anew", field: "sessionInfo")
}
