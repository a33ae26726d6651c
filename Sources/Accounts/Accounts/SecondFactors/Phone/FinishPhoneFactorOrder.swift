import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.finishSecondFactor` by phone: asks the coordinator for the code, and waits.
struct FinishPhoneFactorOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  private let asker: SecondFactorAsker
  private let code: GivenCode
  private let displayName: String?
  private let replyKey: String
  private let arrivedAt: UnixTime
  private let seal: ReplySeal
  private let parts: AccountParts

  init(
    _ command: FinishSecondFactor, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    let reader = parts.reader
    project = try reader.project(command.project)
    let app = try project.appOfCode(command.app)
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    asker = try SecondFactorAsker(
      idToken: command.idToken, pendingCredential: command.pendingCredential, project: project, envelope,
      replyKey: command.replyKey, at: now, reader)
    func open(_ field: SecretField?, _ name: String) throws(APIError) -> Secret? {
      guard let field else { return nil }
      let secret = try reader.open(field, name, of: envelope, replyKey: command.replyKey)
      return secret.isEmpty ? nil : secret
    }
    code = try GivenCode(
      open(command.code, "code"), of: open(command.sessionInfo, "sessionInfo"), project: project.id, app: app,
      client: command.client)
    displayName = try ProfileChange.name(command.displayName)
    (replyKey, arrivedAt) = (command.replyKey, now)
    self.parts = parts
    fingerprints = reader.fingerprints(
      of: command,
      [
        project.id, app, command.kind.rawValue, asker.part, code.verificationID, code.code.reveal(),
        displayName ?? "",
      ])
  }

  private var reader: CommandReader { parts.reader }
  private var checks: PhoneChecks { PhoneChecks(parts: parts) }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) { asker.addKeys(to: &keys) }

  // MARK: Carrying out

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let (code, asker): (PhoneCode, PhoneFactorRequest.Asker)
    switch try named(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): (code, asker) = found
    }
    guard let deadline = PhoneCheck.deadline(of: envelope, at: set.now) else { return CommandAnswer(.requesterGone) }
    let request = PhoneFactorRequest(
      asker: asker, arrivedAt: arrivedAt, displayName: displayName, replyKey: replyKey)
    return try checks.wait(
      PhoneCheck.Waiting(
        envelope: envelope, fingerprint: fingerprint, use: .secondFactor(request), deadline: deadline),
      for: code, in: &set)
  }

  /// The code with its purpose and account. Refusals come before it is used.
  private func named(
    in set: WorkingSet
  ) throws(StoreError) -> Result<(PhoneCode, PhoneFactorRequest.Asker), APIError> {
    let account: RecordID
    let purpose: VerificationPurpose
    let waiting: PhoneFactorRequest.Asker
    switch asker {
    case .user(let caller):
      switch try caller.holder(in: set, reader.rules.sessions) {
      case .failure(let error): return .failure(error)
      case .success(let holder):
        let enrollment = Enrollment(kind: .phone, project: project, reader: reader)
        if let refusal = enrollment.refusal(of: holder, arrivedAt: arrivedAt) { return .failure(refusal) }
        guard let check = caller.check else { return .failure(.invalidIDToken) }
        (account, purpose, waiting) = (holder.account.id, .secondFactorEnrollment, .user(check))
      }
    case .pending(let ids, _):
      switch try pending(ids, in: set) {
      case .failure(let error): return .failure(error)
      case .success(let open): (account, purpose, waiting) = (open.account.id, .secondFactorSignIn, .pending(ids))
      }
    }
    do throws(APIError) {
      return .success((try PhoneCode(code, for: purpose, of: account.text, reader.hashes), waiting))
    } catch {
      return .failure(error)
    }
  }

  private func pending(
    _ ids: [RecordID], in set: WorkingSet
  ) throws(StoreError) -> Result<OpenPendingSignIn, APIError> {
    do throws(APIError) {
      try reader.requireMethod(.secondFactor(.phone), of: project.id)
    } catch {
      return .failure(error)
    }
    return try reader.tickets.pendingSignIn(ids, project: project.id, in: set)
  }

  // MARK: Again

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    // Refused by now, it is carried out anew, which says so.
    guard case .success(let (code, _)) = try named(in: set) else { return false }
    return try checks.renew(envelope, for: code, in: &set)
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    try SignInAnswers(reader: reader, seal: seal).again(AnswerNote(note), project: project.id, in: set)
  }
}

extension Project {
  /// The app that a code is sent for.
  func appOfCode(_ id: String?) throws(APIError) -> String {
    guard let id, !id.isEmpty else { throw .missingAppOfCode }
    guard app(id: id) != nil else { throw .appNotFound }
    return id
  }
}

extension APIError {
  fileprivate static let missingAppOfCode = APIError(
    .missingClientIdentifier, "the app is missing: send the ID under which the project has it", field: "app")
}
