import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.signUp`: makes an anonymous account.
struct SignUpOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: String
  private let limits: SignUpLimits
  private let metrics: AnonymousMetrics
  private let seal: ReplySeal
  private let runs = SignInRuns()
  private let reader: CommandReader

  init(
    _ command: SignUp, _ envelope: Envelope, _ reader: CommandReader, _ metrics: AnonymousMetrics
  ) throws(APIError) {
    project = try reader.project(command.project).id
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    let subject = LimitSubject(project: project, address: try ClientAddress(of: command.client))
    limits = SignUpLimits(of: subject, reader.rules.limits, reader.hashes)
    self.metrics = metrics
    self.reader = reader
    fingerprints = reader.fingerprints(of: command, [project])
  }

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
    if let refusal = try limits.refusal(in: set) { return reader.refuse(refusal, in: &set) }
    var account = try AccountRecord(runs.random.localID, project: project, at: set.now)
    account.isAnonymous = true
    account.isSelfMade = true
    let first = FirstFactor(provider: .anonymous, reader: reader, runs: runs, cause: envelope)
    let outcome = try first.finish(account, isNewUser: true, in: &set)
    metrics.countMade(isBeyondBudget: try limits.isBudgetUsedUp(in: set), in: &set)
    try limits.count(in: &set)
    return try answers.answer(outcome, isNewUser: true, at: set.now)
  }

  private var answers: SignInAnswers { SignInAnswers(reader: reader, seal: seal) }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try answers.again(AnswerNote(note), project: project, in: set)
  }
}
