import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

struct RefreshFlow: Flow {
  private let parts: AccountParts

  init(_ parts: AccountParts) {
    self.parts = parts
  }

  var commands: [CommandKind] {
    [
      CommandKind(RefreshSession.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try RefreshOrder(command, envelope, parts)
      }
    ]
  }
}

/// Mostly it changes nothing, and so is not recorded.
private struct RefreshOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: String
  private let token: RefreshTokens.Presented
  private let seal: ReplySeal
  private let parts: AccountParts

  init(_ command: RefreshSession, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    let project = try parts.reader.project(command.project)
    let text = try parts.reader.open(command.refreshToken, "refreshToken", of: envelope, replyKey: command.replyKey)
    guard !text.isEmpty else { throw .missingRefreshToken }
    // Before the token is judged: a process with the wrong token keys tells no user that a right one is wrong.
    seal = try parts.reader.seal(command.replyKey, envelope, SessionRefreshed.type)
    // A forged token does not reach the store.
    guard let token = parts.idTokens.refreshTokens.read(text) else { throw .invalidRefreshToken }
    fingerprints = parts.reader.fingerprints(of: command, [project.id, text.reveal()])
    self.project = project.id
    self.token = token
    self.parts = parts
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    SessionRecord.addKeys(of: token.sessionID, to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    switch try holder(in: set) {
    case .failure(let refusal): return CommandAnswer(refusal)
    case .success(let holder):
      let tokens = try parts.idTokens.tokens(for: holder.account, holder.session, sealedFor: seal, at: set.now)
      var answer = try CommandAnswer(SessionRefreshed(localID: holder.account.localID, tokens: tokens))
      if try parts.sessions.noteUse(of: holder.session, holder.account, in: &set) {
        answer.note = try AnswerNote(holder.session).bytes
      }
      return answer
    }
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try carryOut(Envelope(type: RefreshSession.type, messageID: ""), in: &set) ?? CommandAnswer(.noSigningKey)
  }

  /// Without a right token the requester learns nothing about account and session.
  private func holder(in set: WorkingSet) throws(StoreError) -> Result<IDTokenCheck.Holder, APIError> {
    if let session = try SessionRecord.find(token.sessionID, in: set) {
      guard parts.idTokens.refreshTokens.matches(token, session), session.project == project else {
        return .failure(.invalidRefreshToken)
      }
    }
    return try SessionRecord.holder(of: token.sessionID, project: project, parts.rules.sessions, in: set)
  }
}
