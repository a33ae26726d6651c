import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.signInWithIdp`: verifies the credential in its stage, and decides on its effect in the transaction.
struct ProviderSignInOrder: KeyedOrder {
  /// Time within which a credential is verified: the gateway waits longer.
  static let verificationLimit = Duration.seconds(12)

  /// Time beyond the end of a credential for which its use is remembered: a command that verified it before is carried
  /// out later.
  private static let lateness = Duration.seconds(60)

  let fingerprints: Fingerprints
  private let project: Project
  private let app: String?
  private let returnsCredential: Bool
  /// `nil` for one that is refused: see ``refusal``.
  private let credential: PresentedCredential?
  private let request: SignInRequest
  private let envelope: Envelope
  private let arrivedAt: UnixTime
  private let seal: ReplySeal
  /// Reason to refuse the command unless it was answered before.
  private let refusal: APIError?
  private let parts: AccountParts
  private let runs = SignInRuns()
  /// Outcome of the stage.
  private var verified: Result<ProvenIdentity, APIError>?
  /// Grant that its failure leaves.
  private var lost: LostGrant?

  init(
    _ command: SignInWithIDP, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    self.parts = parts
    let reader = parts.reader
    let project = try reader.project(command.project)
    if let app = command.app, project.app(id: app) == nil { throw .appNotFound }
    self.project = project
    app = command.app
    self.envelope = envelope
    arrivedAt = now
    returnsCredential = command.returnIDPCredential ?? false
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    let opened = try Self.read(
      try reader.open(command.credential, "credential", of: envelope, replyKey: command.replyKey))
    let idToken = try Self.idToken(of: command, envelope, reader)
    fingerprints = reader.fingerprints(
      of: command,
      opened.parts + [idToken?.reveal() ?? "", project.id, command.app ?? ""]
        + [command.autoCreate, command.returnIDPCredential].map { $0.map(String.init) ?? "" })
    var credential: PresentedCredential?
    var refusal: APIError?
    var caller: IDTokenCheck?
    do throws(APIError) {
      let presented = try PresentedCredential(opened, parts)
      credential = presented
      try presented.check(project, at: now)
      caller = try idToken.map { token throws(APIError) in
        IDTokenCheck(token: try parts.idTokens.verify(token, project: project.id, at: now))
      }
    } catch {
      // A command that was answered before the token expired is answered alike.
      refusal = error
    }
    (self.credential, self.refusal) = (credential, refusal)
    request = SignInRequest(
      caller: caller, isLink: caller != nil, makesAccount: command.autoCreate ?? true, replyKey: command.replyKey)
  }

  private static func read(_ text: Secret) throws(APIError) -> IDPCredential {
    do throws(ContractProblem) {
      return try IDPCredential(text: text)
    } catch {
      throw .invalidCredential
    }
  }

  private static func idToken(
    of command: SignInWithIDP, _ envelope: Envelope, _ reader: CommandReader
  ) throws(APIError) -> Secret? {
    guard let field = command.idToken else { return nil }
    let token = try reader.open(field, "idToken", of: envelope, replyKey: command.replyKey)
    return token.isEmpty ? nil : token
  }

  private var reader: CommandReader { parts.reader }

  // MARK: Stage

  var stage: CommandStage? {
    guard refusal == nil, let credential else { return nil }
    if case .pendingToken = credential { return nil }
    return CommandStage(window: .providers, longest: Self.verificationLimit) { [self] access throws(StoreError) in
      var order = self
      if let error = try await earlyRefusal(access) {
        order.verified = .failure(error)
        return order
      }
      let checked = try await CredentialCheck(project: project, parts: parts).verify(credential, access)
      (order.verified, order.lost) = (checked?.identity, checked?.lost)
      return order
    }
  }

  /// Reason to refuse a page's answer before its code is used up: a requester that has given up, or a caller that is
  /// signed in no longer, or too long.
  private func earlyRefusal(_ access: StageAccess) async throws(StoreError) -> APIError? {
    guard case .page(_, let flow, _) = credential else { return nil }
    guard PhoneCheck.deadline(of: envelope, at: access.now()) != nil else { return .requesterGone }
    guard let caller = request.caller else { return nil }
    var keys = StoreKeys()
    caller.addKeys(to: &keys)
    return try await access.store.read(keys, at: access.now()) { [self] set throws(StoreError) in
      switch try caller.holder(in: set, reader.rules.sessions) {
      case .failure(let error): return error
      case .success(let holder):
        guard holder.account.identity(at: flow.provider) == nil else { return nil }
        do throws(APIError) {
          try SensitiveAct.linking.check(
            on: holder.account, isRecent: holder.isRecent(at: arrivedAt), project.recentLogin)
          return nil
        } catch {
          return error
        }
      }
    }
  }

  // MARK: Carrying out

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    if let caller = request.caller { caller.addKeys(to: &keys) }
    if case .pendingToken(let ids) = credential { for id in ids { keys.add(record: id) } }
    guard case .success(let proven) = verified else { return }
    try presented(proven, .credential).addKeys(in: project.id, to: &keys)
    OpenIDConfigurations.addKeys(of: project.id, proven.provider, to: &keys)
    if let used = Self.used(proven) { keys.add(record: used.id) }
  }

  private static func used(_ proven: ProvenIdentity) -> UsedCredential? {
    proven.countsOnce.flatMap { UsedCredential($0, of: proven.provider) }
  }

  private func presented(_ proven: ProvenIdentity, _ source: PresentedIdentity.Source) -> PresentedIdentity {
    PresentedIdentity(proven: proven, source: source, app: app, returnsCredential: returnsCredential)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if let refusal { return CommandAnswer(refusal) }
    // The user may begin anew at once, and the account has it then.
    if let lost {
      try GrantRevocation.begin(
        lost, of: project.id, as: runs.random.eventID, after: GrantRevocation.respite, in: &set)
    }
    var request = request
    switch try request.caller?.holder(in: set, reader.rules.sessions) {
    case nil: break
    case .failure(let error): return try refused(error, in: &set)
    case .success(let holder): request.isRecent = holder.isRecent(at: arrivedAt)
    }
    // Nothing is used up for a requester that has given up, but the code of a page is.
    guard PhoneCheck.deadline(of: envelope, at: set.now) != nil else {
      return try refused(isPage ? .pageTooLate : .requesterGone, in: &set)
    }
    guard case .pendingToken(let ids) = credential else { return try present(request, envelope, in: &set) }
    let found: OpenTicket<ProvenIdentity>? = try reader.tickets.find(
      ids, .pendingCredential, project: project.id, in: set)
    guard let found, found.ticket.app.map({ $0 == app }) ?? true else {
      return CommandAnswer(.invalidPendingToken)
    }
    if let error = try refusal(of: found.content, in: set) { return CommandAnswer(error) }
    let outcome = try signIn(presented(found.content, .pendingToken), request, envelope).carryOut(in: &set)
    if outcome.usesProof {
      try set.remove(found.ticket.id)
      if !outcome.isProofKept { try giveBack(found.content, in: &set) }
    }
    return outcome.answer
  }

  private func signIn(
    _ factor: PresentedIdentity, _ request: SignInRequest, _ envelope: Envelope
  ) -> SignIn<PresentedIdentity> {
    SignIn(project: project.id, factor: factor, request: request, cause: envelope, reader: reader, runs: runs)
  }

  /// Since the credential was verified, its provider may have been switched off.
  private func refusal(of proven: ProvenIdentity, in set: WorkingSet) throws(StoreError) -> APIError? {
    guard OpenIDConfigurations.isID(proven.provider) else { return nil }
    let configuration = try parts.openID.find(proven.provider, of: project, in: set)
    return configuration?.isEnabled == true ? nil : .openIDNotFound
  }

  private func present(
    _ request: SignInRequest, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    let proven: ProvenIdentity
    switch verified {
    case nil: return CommandAnswer(.invalidProviderID)
    case .failure(let error):
      try spendFlow(refusedBy: error, in: &set)
      return CommandAnswer(error)
    case .success(let identity): proven = identity
    }
    if let error = try refusal(of: proven, in: set) { return try refused(error, in: &set) }
    let used = Self.used(proven)
    if let used, try used.isUsed(in: set) {
      try giveBack(proven, in: &set)
      return CommandAnswer(.duplicateCredential)
    }
    let outcome = try signIn(presented(proven, .credential), request, envelope).carryOut(in: &set)
    if outcome.usesProof || isPage { try spend(proven, in: &set) }
    if !outcome.isProofKept { try giveBack(proven, in: &set) }
    return outcome.answer
  }

  private var isPage: Bool {
    if case .page = credential { true } else { false }
  }

  private func spend(_ proven: ProvenIdentity, in set: inout WorkingSet) throws(StoreError) {
    guard let used = Self.used(proven), let until = proven.countsOnce?.until else { return }
    try used.store(until: until + Self.lateness, in: &set)
  }

  /// The code of a page is used up by then, whatever comes of it: its flow is not taken to the provider again.
  private func refused(_ error: APIError, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    if isPage, case .success(let proven) = verified {
      try spend(proven, in: &set)
      try giveBack(proven, in: &set)
    }
    return CommandAnswer(error)
  }

  /// Has the grant of a refused sign-in revoked. It goes to the account that has the identity, if there is one: at
  /// Apple, a revocation ends what the user has allowed, that account's grant with it.
  private func giveBack(_ proven: ProvenIdentity, in set: inout WorkingSet) throws(StoreError) {
    guard let grant = proven.grant else { return }
    let key = try presented(proven, .credential).key(project: project.id)
    guard var account = try AccountRecord.find(holderOf: key, in: set) else {
      let lost = LostGrant(grant: grant, subject: proven.subject)
      return try GrantRevocation.begin(lost, of: project.id, as: runs.random.eventID, in: &set)
    }
    account.take(grant, at: proven.provider)
    try account.store(in: &set)
  }

  /// A flow whose answer is wrong has had its try: each costs its provider an exchange in our name.
  private func spendFlow(refusedBy error: APIError, in set: inout WorkingSet) throws(StoreError) {
    guard case .page(_, let flow, _) = credential,
      [.invalidIDPResponse, .missingOrInvalidNonce].contains(error.code),
      let used = UsedCredential(flow.refused, of: flow.provider), try !used.isUsed(in: set)
    else { return }
    try used.store(until: flow.refused.until + Self.lateness, in: &set)
  }

  // MARK: Again

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    let answers = SignInAnswers(reader: reader, seal: seal)
    let note = try AnswerNote(note)
    switch note {
    case .session, .secondFactor, .sharedSecret, .proof:
      return try answers.again(note, project: project.id, in: set) { account, provider in
        provider.flatMap { account.identity(at: $0)?.signedIn }
      }
    case .pending(let seed, let refusal): return try pending(again: seed, refusal, answers, in: set)
    case .refused(let refusal):
      guard let error = refusal.error else { throw StoreError.unreadableBody }
      return CommandAnswer(error)
    }
  }

  private func pending(
    again seed: [UInt8], _ refusal: SignInRefusal, _ answers: SignInAnswers, in set: WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    for text in reader.tickets.texts(seed: seed) {
      let found: OpenTicket<ProvenIdentity>? = try reader.tickets.find(
        [text.id], .pendingCredential, project: project.id, in: set)
      guard var proven = found?.content else { continue }
      // Clients keep the pending token only beside the token that it stands for.
      proven.oauthIDToken = credential?.opened?.idToken.map(Secret.init)
      return try answers.refused(refusal, proven.signedIn, text)
    }
    return CommandAnswer(.duplicateCredential)
  }
}

extension IDPCredential {
  /// Its members, which come in any order. Absent and empty ones are alike.
  fileprivate var parts: [String] {
    let direct = [providerID, idToken, accessToken, nonce, user, pendingToken].map { $0 ?? "" }
    let page = [code, state, issuer, redirectURI, sessionID].map { $0 ?? "" }
    return page.allSatisfy(\.isEmpty) ? direct : direct + page
  }
}
