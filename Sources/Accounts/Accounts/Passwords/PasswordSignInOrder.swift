import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects

/// `account.signInWithPassword`: compares in its stage, and begins a session in the transaction.
///
/// An address that no account has costs as much as one that has a password, imported ones included: time tells nothing
/// about it. See ``Passwords/isRight(_:_:decoy:)``.
struct PasswordSignInOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  private let email: String
  private let password: Secret
  private let attempts: WrongPasswords
  private let seal: ReplySeal
  private let runs = SignInRuns()
  private let reader: CommandReader
  private let passwords: Passwords
  /// Outcome of the stage.
  private var comparison: Result<Comparison, APIError>?

  private struct Comparison: Sendable {
    let account: RecordID?
    /// The hash that it was compared with. `nil` where there is none.
    let hash: PasswordHash?
    let isRight: Bool
    /// Hash by today's algorithm, in place of an older or imported one.
    let renewed: PasswordHash?
  }

  init(_ command: SignInWithPassword, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    reader = parts.reader
    passwords = parts.passwords
    project = try reader.project(command.project)
    if let app = command.app, project.app(id: app) == nil { throw .appNotFound }
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    let credential = try PasswordCredential(command.credential, envelope, command.replyKey, reader)
    email = try MailAddress.read(credential.email)
    guard let text = credential.password, !text.isEmpty else { throw .missingPassword }
    password = Secret(text)
    attempts = reader.wrongPasswords(
      of: LimitSubject(
        project: project.id, address: try ClientAddress(of: command.client), mailAddress: email.normalizedAddress))
    fingerprints = reader.fingerprints(of: command, [project.id, email, text])
  }

  // MARK: Stage

  var stage: CommandStage? {
    CommandStage(window: .hashing, longest: Passwords.longestStage) { [self] access throws(StoreError) in
      var order = self
      guard project.methods.contains(.password) else { return order }
      let now = access.now()
      var keys = StoreKeys()
      try ImportedHashes.addKeys(of: project.id, to: &keys)
      let looked = try await access.store.read(keys, at: now) {
        set throws(StoreError) -> (found: Found, imported: ImportedHashes)? in
        guard try attempts.refusal(in: set) == nil else { return nil }
        return (try Found(email, project.id, in: set), try ImportedHashes.find(project.id, in: set))
      }
      // The transaction refuses it.
      guard let looked else { return order }
      let decoy = looked.imported.decoy(of: email, project.id, reader.hashes)
      do throws(APIError) {
        order.comparison = .success(try await compare(looked.found, decoy))
      } catch {
        order.comparison = .failure(error)
      }
      return order
    }
  }

  private struct Found: Sendable {
    let account: RecordID?
    let hash: PasswordHash?

    init(_ email: String, _ project: String, in set: WorkingSet) throws(StoreError) {
      let account = try AccountRecord.find(holderOf: AccountRecord.key(ofEmail: email, project: project), in: set)
      // Only its own address goes with a password, and not that of an identity.
      let owner = account?.email?.normalizedAddress == email.normalizedAddress ? account : nil
      self.account = owner?.id
      hash = try owner.flatMap { owner throws(StoreError) in
        owner.hasPassword ? try PasswordRecord.find(owner.id, in: set)?.hash : nil
      }
    }
  }

  private func compare(_ found: Found, _ decoy: PasswordHash?) async throws(APIError) -> Comparison {
    let isRight = try await passwords.isRight(password, found.hash, decoy: decoy)
    let isOld = isRight && found.hash?.isCurrent == false
    return Comparison(
      account: found.account, hash: found.hash, isRight: isRight,
      renewed: isOld ? try await passwords.hash(password) : nil)
  }

  // MARK: Carrying out

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try attempts.addKeys(to: &keys, at: now)
    keys.add(holderOf: try AccountRecord.key(ofEmail: email, project: project.id))
    ProjectSettings.addKeys(of: project.id, to: &keys)
    guard case .success(let comparison) = comparison, let account = comparison.account else { return }
    keys.add(record: try PasswordRecord.id(of: account))
    keys.add(group: try SessionRecord.group(ofAccount: account))
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    do throws(APIError) {
      try reader.requireMethod(.password, of: project.id)
    } catch {
      return CommandAnswer(error)
    }
    if let refusal = try attempts.refusal(in: set) { return reader.refuse(refusal, in: &set) }
    // A limit that was reached when the stage began has passed meanwhile.
    guard let comparison else { return CommandAnswer(.hashingBusy) }
    switch comparison {
    case .failure(let error): return CommandAnswer(error)
    case .success(let comparison): return try decide(comparison, envelope, in: &set)
    }
  }

  private func decide(
    _ comparison: Comparison, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    let found = try Found(email, project.id, in: set)
    // It was changed between the comparison and now.
    guard found.account == comparison.account, found.hash == comparison.hash else {
      return CommandAnswer(.hashingBusy)
    }
    guard comparison.isRight, let id = found.account,
      let account = try AccountRecord.find(id, project: project.id, in: set)
    else {
      try attempts.countWrong(in: &set)
      let settings = try ProjectSettings.find(project, in: set)
      return CommandAnswer(.wrongPassword(isKnown: found.account != nil, isProtected: settings.protectsAddresses))
    }
    try attempts.countRight(in: &set)
    guard !account.isDisabled else { return CommandAnswer(.userDisabled) }
    if let renewed = comparison.renewed { try account.storePassword(renewed, in: &set) }
    let first = FirstFactor(provider: .password, reader: reader, runs: runs, cause: envelope)
    return try answers.answer(
      first.finish(account, isNewUser: false, in: &set), isNewUser: false, account.passwordIdentity, at: set.now)
  }

  private var answers: SignInAnswers { SignInAnswers(reader: reader, seal: seal) }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try answers.again(AnswerNote(note), project: project.id, in: set) { account, _ in account.passwordIdentity }
  }
}

extension PasswordCredential {
  init(
    _ field: SecretField, _ envelope: Envelope, _ replyKey: String?, _ reader: CommandReader
  ) throws(APIError) {
    let text = try reader.open(field, "credential", of: envelope, replyKey: replyKey)
    do throws(ContractProblem) {
      self = try PasswordCredential(text: text)
    } catch {
      throw APIError(.invalidArgument, "credential is not a JSON object of address and password", field: "credential")
    }
  }
}

extension AccountRecord {
  /// The account's own address, as sign-ins by it answer.
  var passwordIdentity: SignedInIdentity? {
    guard let email else { return nil }
    var identity = SignedInIdentity(providerID: SignInProvider.password.name, federatedID: email)
    identity.email = email
    identity.emailVerified = isEmailVerified
    identity.displayName = displayName
    identity.photoURL = photoURL
    return identity
  }
}

extension APIError {
  /// - Parameters:
  ///   - isKnown: whether an account has the address.
  ///   - isProtected: whether that stays a secret.
  static func wrongPassword(isKnown: Bool, isProtected: Bool) -> APIError {
    if isProtected { return APIError(.invalidLoginCredentials, "address or password is wrong") }
    return isKnown
      ? APIError(.invalidPassword, "the password is wrong, or the account has none", field: "password")
      : APIError(.emailNotFound, "no account has the address", field: "email")
  }
}
