import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects

/// `account.signUp` with a password: makes an account, or adds the password to the account of an ID token.
struct PasswordSignUpOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  private let email: String
  private let password: Secret
  private let displayName: String?
  private let caller: IDTokenCheck?
  private let arrivedAt: UnixTime
  private let limits: LimitBench
  private let seal: ReplySeal
  /// Reason to refuse the command unless it was answered before.
  private let refusal: APIError?
  private let runs = SignInRuns()
  private let reader: CommandReader
  private let passwords: Passwords
  /// Outcome of the stage.
  private var hash: Result<PasswordHash, APIError>?

  init(
    _ command: SignUp, _ field: SecretField, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    reader = parts.reader
    passwords = parts.passwords
    project = try reader.project(command.project)
    if let app = command.app, project.app(id: app) == nil { throw .appNotFound }
    arrivedAt = now
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    let credential = try PasswordCredential(field, envelope, command.replyKey, reader)
    email = try MailAddress.read(credential.email)
    password = Secret(credential.password ?? "")
    try passwords.check(password, project)
    displayName = try ProfileChange.name(credential.displayName)
    let token = try command.idToken.map { [reader] field throws(APIError) in
      try reader.open(field, "idToken", of: envelope, replyKey: command.replyKey)
    }
    limits = reader.limits(
      Limit.passwordAccounts,
      of: LimitSubject(project: project.id, address: try ClientAddress(of: command.client)))
    fingerprints = reader.fingerprints(
      of: command,
      [project.id, email, password.reveal(), token?.reveal() ?? "", credential.displayName ?? ""])
    var refusal: APIError?
    var caller: IDTokenCheck?
    do throws(APIError) {
      guard project.methods.contains(.password) else { throw .methodOff(.password) }
      caller = try token.map { [reader, project] token throws(APIError) in
        IDTokenCheck(token: try reader.idTokens.verify(token, project: project.id, at: now))
      }
    } catch {
      refusal = error
    }
    self.refusal = refusal
    self.caller = caller
  }

  var stage: CommandStage? {
    guard refusal == nil else { return nil }
    return CommandStage(window: .hashing, longest: Passwords.longestStage) { [self] access throws(StoreError) in
      var order = self
      let isRefused = try await access.store.read(StoreKeys(), at: access.now()) { set throws(StoreError) in
        try limits.refusal(in: set) != nil
      }
      if isRefused { return order }
      do throws(APIError) {
        order.hash = .success(try await passwords.hash(password))
      } catch {
        order.hash = .failure(error)
      }
      return order
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try limits.addKeys(to: &keys, at: now)
    keys.add(holderOf: try AccountRecord.key(ofEmail: email, project: project.id))
    caller?.addKeys(to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if let refusal { return CommandAnswer(refusal) }
    let neighbor = try AccountRecord.find(
      holderOf: AccountRecord.key(ofEmail: email, project: project.id), in: set)
    if let refusal = try limits.refusal(in: set) { return reader.refuse(refusal, in: &set) }
    guard let hash else { return CommandAnswer(.hashingBusy) }
    let made: PasswordHash
    switch hash {
    case .failure(let error): return CommandAnswer(error)
    case .success(let hash): made = hash
    }
    // It tells whether an account has the address, so refused ones are counted, too.
    try limits.count(in: &set)
    guard let caller else { return try make(made, besides: neighbor, envelope, in: &set) }
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let holder):
      guard neighbor.map({ $0.id == holder.account.id }) ?? true else { return CommandAnswer(.addressTaken) }
      return try add(made, to: holder, envelope, in: &set)
    }
  }

  // MARK: A new account

  private func make(
    _ hash: PasswordHash, besides neighbor: AccountRecord?, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    guard neighbor == nil else { return CommandAnswer(.addressTaken) }
    var account = try AccountRecord(runs.random.localID, project: project.id, at: set.now)
    account.isSelfMade = true
    account.displayName = displayName
    account.takeAddress(email)
    try account.setPassword(hash, in: &set)
    let first = FirstFactor(provider: .password, reader: reader, runs: runs, cause: envelope)
    return try answers.answer(
      first.finish(account, isNewUser: true, in: &set), isNewUser: true, account.passwordIdentity, at: set.now)
  }

  // MARK: An account that stands

  private func add(
    _ hash: PasswordHash, to holder: IDTokenCheck.Holder, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    let isRecent = holder.isRecent(at: arrivedAt)
    do throws(APIError) {
      let rules = try reader.project(project.id).recentLogin
      let act: SensitiveAct = holder.account.email == nil ? .linking : .changeOfCredential
      try act.check(on: holder.account, isRecent: isRecent, rules)
    } catch {
      return CommandAnswer(error)
    }
    if let other = holder.account.email, other.normalizedAddress != email.normalizedAddress {
      return CommandAnswer(.addressAlreadyThere)
    }
    var (account, session) = (holder.account, holder.session)
    let isFirst = !account.signsInByEmail
    if isFirst {
      account.emailTrustedFrom = isRecent || account.isAnonymous ? nil : set.now + SensitiveAct.distrust
    }
    account.takeAddress(email)
    guard account.isEmailVerified || account.secondFactors.isEmpty else { return CommandAnswer(.unverifiedAddress) }
    account.displayName = account.displayName ?? displayName
    account.isAnonymous = false
    account.passwordChangedAt = set.now
    guard reader.linkingConsent(of: project.id).allows(account, from: holder.account) else {
      return CommandAnswer(.consentRequired)
    }
    try account.storePassword(hash, in: &set)
    if !isFirst { try Sessions(rules: reader.rules.sessions).endOthers(than: session, in: &set) }
    try account.store(in: &set)
    session.provider = .password
    try session.store(reader.rules.sessions, in: &set)
    try AccountEvents(account, runs.random.eventID, envelope).changes(from: holder.account, in: &set)
    return try answers.tokens(
      IDTokenCheck.Holder(account: account, session: session), isNewUser: false, account.passwordIdentity, at: set.now)
  }

  private var answers: SignInAnswers { SignInAnswers(reader: reader, seal: seal) }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try answers.again(AnswerNote(note), project: project.id, in: set) { account, _ in account.passwordIdentity }
  }
}

extension AccountRecord {
  /// Makes an address the account's own. It is verified if a provider vouches for it.
  mutating func takeAddress(_ address: String) {
    let isSame = email?.normalizedAddress == address.normalizedAddress
    let isVouchedFor = identities.contains {
      $0.ownsEmail && $0.email?.normalizedAddress == address.normalizedAddress
    }
    isEmailVerified = isSame && isEmailVerified || isVouchedFor
    email = address
    initialEmail = initialEmail ?? address
  }

  /// Takes its own address, and with it the sign-in by links.
  mutating func removeAddress() {
    email = nil
    isEmailVerified = false
    emailTrustedFrom = nil
    signsInByLink = false
  }
}

extension APIError {
  static let addressTaken = APIError(.emailExists, "another account has the address", field: "email")
  static let addressAlreadyThere = APIError(
    .operationNotAllowed, "the account has another address: change that one", field: "email",
    reason: "VERIFY_NEW_EMAIL")
}
