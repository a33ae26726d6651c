import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.withdrawSecondFactor`: takes a second factor from an ID token's account.
struct WithdrawOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  private let caller: CommandCaller
  private let enrollmentID: String
  private let arrivedAt: UnixTime
  private let seal: ReplySeal
  private let reader: CommandReader
  private let eventID = MessageID.make()

  init(
    _ command: WithdrawSecondFactor, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) {
    project = try reader.project(command.project)
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    caller = try CommandCaller(
      command.idToken, project: project.id, of: envelope, at: now, replyKey: command.replyKey, reader)
    guard !command.enrollmentID.isEmpty else { throw .missingEnrollmentID }
    fingerprints = reader.fingerprints(of: command, [project.id, caller.text, command.enrollmentID])
    enrollmentID = command.enrollmentID
    arrivedAt = now
    self.reader = reader
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    do throws(APIError) {
      try holder.require(.changeOfCredential, project.recentLogin, at: arrivedAt)
    } catch {
      return CommandAnswer(error)
    }
    guard holder.account.secondFactor(enrollmentID) != nil else { return CommandAnswer(.enrollmentNotFound) }
    var changed = holder
    changed.account.secondFactors.removeAll { $0.enrollmentID == enrollmentID }
    try changed.session = endGiven(holder, in: &set)
    try changed.account.store(in: &set)
    try AccountEvents(changed.account, eventID, envelope).changes(from: holder.account, in: &set)
    return try answers.tokens(changed, isNewUser: false, at: set.now)
  }

  /// Ends the other sessions that the factor was given for, as those of a lost way to sign in: somebody with the device
  /// may have begun them. The caller's goes on without its claim.
  ///
  /// - Returns: the caller's.
  private func endGiven(
    _ holder: IDTokenCheck.Holder, in set: inout WorkingSet
  ) throws(StoreError) -> SessionRecord {
    let sessions = Sessions(rules: reader.rules.sessions)
    for session in try sessions.all(of: holder.account, in: set)
    where session.enrollmentID == enrollmentID && session.id != holder.session.id {
      try set.remove(session.id)
    }
    guard holder.session.enrollmentID == enrollmentID else { return holder.session }
    var session = holder.session
    (session.secondFactor, session.enrollmentID) = (nil, nil)
    try session.store(sessions.rules, in: &set)
    return session
  }

  private var answers: SignInAnswers { SignInAnswers(reader: reader, seal: seal) }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try answers.again(AnswerNote(note), project: project.id, in: set)
  }
}
