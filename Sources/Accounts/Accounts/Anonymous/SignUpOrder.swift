import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.signUp`: makes an anonymous account.
struct SignUpOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let former: [[UInt8]]
  private let project: String
  private let limits: SignUpLimits
  private let metrics: AnonymousMetrics
  private let seal: ReplySeal
  private let random = RandomValues()
  private let reader: CommandReader

  init(
    _ command: SignUp, _ envelope: Envelope, _ reader: CommandReader, _ metrics: AnonymousMetrics
  ) throws(APIError) {
    project = try reader.project(command.project).id
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    limits = SignUpLimits(
      reader.rules.anonymous, project: project, from: try ClientAddress(of: command.client), reader.hashes)
    self.metrics = metrics
    self.reader = reader
    (fingerprint, former) = reader.fingerprints(of: command, [project])
  }

  func formerFingerprints() -> [[UInt8]] { former }

  /// A limit counts as not reached while its counter is not loaded: for whom it refuses, no token must be signed.
  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try limits.addKeys(to: &keys, at: now)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    do throws(APIError) {
      try reader.requireMethod(.anonymous, of: project)
    } catch {
      return CommandAnswer(error)
    }
    if let refusal = try limits.refusal(in: set) {
      metrics.count(refusal, in: &set)
      return CommandAnswer(APIError(refusal))
    }
    var account = try AccountRecord(random.localID, project: project, at: set.now)
    account.isAnonymous = true
    let session = try Sessions(rules: reader.rules.sessions).start(
      for: &account, isNew: true, by: .anonymous, random, in: &set)
    account.endsAt = session.end(reader.rules.sessions)
    try account.store(isNew: true, in: &set)
    metrics.countMade(isBeyondBudget: try limits.isBudgetUsedUp(in: set), in: &set)
    try limits.count(in: &set)
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
