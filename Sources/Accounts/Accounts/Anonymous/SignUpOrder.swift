import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.signUp`: makes an anonymous account.
struct SignUpOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let former: [[UInt8]]
  private let project: String
  private let limit: SignUpLimit
  private let seal: ReplySeal
  private let envelope: Envelope
  private let reader: CommandReader

  init(_ command: SignUp, _ envelope: Envelope, _ reader: CommandReader) throws(APIError) {
    project = try reader.project(command.project).id
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    let address = try ClientAddress(of: command.client)
    limit = SignUpLimit(
      perHour: reader.rules.anonymousPerHour,
      name: reader.hashes.hash("anonymous sign-ups", [project, address?.network ?? ""]))
    self.envelope = envelope
    self.reader = reader
    (fingerprint, former) = reader.hashes.fingerprints("signUp", [project])
  }

  func formerFingerprints() -> [[UInt8]] { former }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try limit.addKeys(to: &keys, at: now)
  }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try SignedInNote.recorded(for: envelope, in: set)?.addKeys(to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    do throws(APIError) {
      try reader.requireMethod(.anonymous, of: project)
    } catch {
      return CommandAnswer(error)
    }
    if let wait = try limit.wait(in: set) { return CommandAnswer(.tooManySignUps(wait: wait)) }
    guard let id = AccountRecord.makeID() else { throw FieldReader.unreadable }
    var account = AccountRecord(id, project: project, at: set.now)
    let session = try Sessions(rules: reader.rules.sessions).start(
      for: &account, isNew: true, provider: .anonymous, in: &set)
    try account.store(in: &set)
    try limit.count(in: &set)
    try set.announceCreation(of: account, provider: .anonymous, cause: envelope)
    let holder = IDTokenCheck.Holder(account: account, session: session)
    return try AccountSignedIn.answer(holder, isNewUser: true, sealedFor: seal, reader.idTokens, at: set.now)
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    switch try SignedInNote(note).holder(project: project, in: set, reader.rules.sessions) {
    case .failure(let error): CommandAnswer(error)
    case .success(let holder):
      try AccountSignedIn.answer(holder, isNewUser: true, sealedFor: seal, reader.idTokens, at: set.now)
    }
  }
}

extension APIError {
  fileprivate static func tooManySignUps(wait: Duration) -> APIError {
    APIError(
      .tooManyAttempts, "too many anonymous accounts were made from this address within an hour", field: "client.ip",
      retryAfter: max(1, Int(clamping: wait.components.seconds)), reason: "ANONYMOUS_LIMIT")
  }
}
