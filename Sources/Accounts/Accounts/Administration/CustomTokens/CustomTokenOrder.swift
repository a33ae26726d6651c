import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.signInWithCustomToken`: opens the account of the token's user, or makes it. The token may come again until
/// it expires.
struct CustomTokenOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: String
  /// A fault of it refuses the command unless it was answered before.
  private let token: Result<CustomToken, APIError>
  private let seal: ReplySeal
  private let runs = SignInRuns()
  private let reader: CommandReader

  init(
    _ command: SignInWithCustomToken, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) {
    project = try reader.project(command.project).id
    let text = try reader.open(command.token, "token", of: envelope, replyKey: command.replyKey)
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    token = Result { [project] () throws(APIError) in
      try reader.requireMethod(.custom, of: project)
      return try CustomToken(text, project: project, isDevelopment: reader.rules.isDevelopment, at: now)
    }
    self.reader = reader
    fingerprints = reader.fingerprints(of: command, [project, text.reveal()])
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    guard case .success(let token) = token else { return }
    if let id = token.signed?.by.id { keys.add(record: id) }
    guard let id = AccountRecord.id(of: token.localID, project: project) else { return }
    keys.add(record: id)
    keys.add(group: try SessionRecord.group(ofAccount: id))
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let token: CustomToken
    switch self.token {
    case .failure(let error): return CommandAnswer(error)
    case .success(let good): token = good
    }
    if let refusal = try Self.refusal(ofSignature: token, in: set) { return CommandAnswer(refusal) }
    let found = try AccountRecord.find(token.localID, project: project, in: set)
    if found?.isDisabled == true { return CommandAnswer(.userDisabled) }
    var account = if let found { found } else { try AccountRecord(token.localID, project: project, at: set.now) }
    // It has a way back now.
    (account.isAnonymous, account.isSelfMade) = (false, false)
    let first = FirstFactor(
      provider: .custom, reader: reader, runs: runs, cause: envelope, claims: token.claims)
    let outcome = try first.finish(account, isNewUser: found == nil, in: &set)
    return try answers.answer(outcome, isNewUser: found == nil, at: set.now)
  }

  private static func refusal(
    ofSignature token: CustomToken, in set: WorkingSet
  ) throws(StoreError) -> APIError? {
    guard let (assertion, name) = token.signed else { return nil }
    guard let account = try ServiceAccountRecord.find(name, in: set), !account.isDisabled,
      assertion.key(of: account) != nil
    else { return .invalidCustomToken("its service account or key is unknown, or did not sign it") }
    guard account.roles.contains(.tokens) else {
      return .invalidCustomToken("its service account lacks the role \(AdministratorRole.tokens.rawValue)")
    }
    return nil
  }

  private var answers: SignInAnswers { SignInAnswers(reader: reader, seal: seal) }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try answers.again(AnswerNote(note), project: project, in: set)
  }
}
