import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.signInWithPhone`: with a code it asks the coordinator and waits. With a temporary proof it is answered at
/// once.
struct SignInOrder: KeyedOrder {
  enum Credential: Sendable {
    case code(PhoneCode)
    case temporaryProof(ids: [RecordID], phoneNumber: String)

    /// The number, as far as it is known before the proof is judged.
    var number: String? {
      switch self {
      case .code: nil
      case .temporaryProof(_, let phoneNumber): phoneNumber
      }
    }
  }

  let fingerprints: Fingerprints
  private let project: String
  private let app: String?
  private let credential: Credential
  private let request: SignInRequest
  private let seal: ReplySeal
  /// Reason to refuse the command unless it was answered before.
  private let refusal: APIError?
  private let flow: PhoneSignInFlow
  private let runs = SignInRuns()

  private var reader: CommandReader { flow.reader }

  init(
    _ command: SignInWithPhone, _ envelope: Envelope, at now: UnixTime, _ flow: PhoneSignInFlow
  ) throws(APIError) {
    let reader = flow.reader
    let project = try reader.project(command.project)
    if let app = command.app, project.app(id: app) == nil { throw .appNotFound }
    self.project = project.id
    app = command.app
    self.flow = flow
    seal = try reader.seal(command.replyKey, envelope, AccountSignedIn.type)
    let opened = try OpenedSignIn(command, envelope, reader)
    credential = try opened.credential(of: command, reader.hashes, reader.tickets)
    let operation = command.operation ?? .unspecified
    var refusal: APIError?
    var caller: IDTokenCheck?
    do throws(APIError) {
      try reader.requireMethod(.phone, of: project.id)
      if let token = opened.idToken {
        caller = IDTokenCheck(token: try reader.idTokens.verify(token, project: project.id, at: now))
      } else if operation == .link || operation == .update {
        throw .missingIDToken
      }
    } catch {
      // A command that was answered before the token expired is answered alike.
      refusal = error
    }
    self.refusal = refusal
    request = SignInRequest(
      caller: caller, isLink: caller != nil && operation != .reauthenticate,
      makesAccount: operation != .reauthenticate && opened.temporaryProof == nil, replyKey: command.replyKey)
    fingerprints = reader.fingerprints(
      of: command, opened.parts + [project.id, command.app ?? "", operation.rawValue])
  }

  // MARK: Keys

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try request.addKeys(to: &keys)
    switch credential {
    case .code(let code): for id in code.ids { keys.add(record: id) }
    case .temporaryProof(let ids, let number):
      for id in ids { keys.add(record: id) }
      keys.add(holderOf: try AccountRecord.key(ofNumber: number, project: project))
      ProjectSettings.addKeys(of: project, to: &keys)
    }
  }

  // MARK: Carrying out

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if let refusal { return CommandAnswer(refusal) }
    // Before the code is given to the coordinator, which would count it as used.
    let request: SignInRequest
    switch try withAge(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let checked): request = checked
    }
    guard let deadline = PhoneCheck.deadline(of: envelope, at: set.now) else { return CommandAnswer(.requesterGone) }
    switch credential {
    case .code(let code):
      let waiting = PhoneCheck.Waiting(
        envelope: envelope, fingerprint: fingerprint, use: .signIn(request), deadline: deadline)
      return try flow.checks.wait(waiting, for: code, in: &set)
    case .temporaryProof(let ids, let number): return try redeem(ids, number, for: request, envelope, in: &set)
    }
  }

  private func withAge(in set: WorkingSet) throws(StoreError) -> Result<SignInRequest, APIError> {
    guard let caller = request.caller else { return .success(request) }
    var request = request
    switch try caller.holder(in: set, reader.rules.sessions) {
    case .failure(let error): return .failure(error)
    case .success(let holder):
      request.isRecent = holder.isRecent(at: set.now)
      do throws(APIError) {
        try request.check(
          ProvenNumber.act(on: holder.account, number: credential.number), on: holder.account,
          reader.project(project).recentLogin)
      } catch {
        return .failure(error)
      }
      return .success(request)
    }
  }

  private func redeem(
    _ ids: [RecordID], _ number: String, for request: SignInRequest, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    // A command without an app takes any of its project, as with codes.
    guard
      let proof: OpenTicket<PhoneProof> = try reader.tickets.find(ids, .phoneProof, project: project, in: set),
      let proofApp = proof.ticket.app, proof.content.number == number, app.map({ $0 == proofApp }) ?? true
    else { return CommandAnswer(.invalidTemporaryProof) }
    let proven = ProvenNumber(
      number: number, app: proofApp, isFictional: proof.content.isFictional, source: .temporaryProof)
    let outcome = try SignIn(
      project: project, factor: proven, request: request, cause: envelope, reader: reader, runs: runs
    ).carryOut(in: &set)
    if outcome.usesProof { try set.remove(proof.ticket.id) }
    return outcome.answer
  }

  // MARK: Again

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    guard case .code(let code) = credential else { return false }
    return try flow.checks.renew(envelope, for: code, in: &set)
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    let answers = SignInAnswers(reader: reader, seal: seal)
    let note = try AnswerNote(note)
    if case .proof(let seed) = note { return try proof(again: seed, answers, in: set) }
    return try answers.again(note, project: project, in: set)
  }

  private func proof(
    again seed: [UInt8], _ answers: SignInAnswers, in set: WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    for text in reader.tickets.texts(seed: seed) {
      let found: OpenTicket<PhoneProof>? = try reader.tickets.find(
        [text.id], .phoneProof, project: project, in: set)
      guard let found else { continue }
      return try answers.proof(text, of: found.content.number, expiresAt: found.ticket.expiresAt, at: set.now)
    }
    return CommandAnswer(.codeUsed)
  }
}

private struct OpenedSignIn {
  var sessionInfo: Secret?
  var code: Secret?
  var temporaryProof: Secret?
  var idToken: Secret?
  let phoneNumber: String?

  /// Digits of E.164 with the plus.
  static let maxNumberBytes = 16

  init(_ command: SignInWithPhone, _ envelope: Envelope, _ reader: CommandReader) throws(APIError) {
    func open(_ field: SecretField?, _ name: String) throws(APIError) -> Secret? {
      try Self.open(field, name, envelope, replyKey: command.replyKey, reader)
    }
    sessionInfo = try open(command.sessionInfo, "sessionInfo")
    code = try open(command.code, "code")
    temporaryProof = try open(command.temporaryProof, "temporaryProof")
    idToken = try open(command.idToken, "idToken")
    phoneNumber = command.phoneNumber.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func open(
    _ field: SecretField?, _ name: String, _ envelope: Envelope, replyKey: String, _ reader: CommandReader
  ) throws(APIError) -> Secret? {
    guard let field else { return nil }
    let secret = try reader.open(field, name, of: envelope, replyKey: replyKey)
    return secret.isEmpty ? nil : secret
  }

  var parts: [String] {
    [sessionInfo, code, temporaryProof, idToken].map { $0?.reveal() ?? "" } + [phoneNumber ?? ""]
  }

  func credential(
    of command: SignInWithPhone, _ hashes: AccountHashes, _ tickets: Tickets
  ) throws(APIError) -> SignInOrder.Credential {
    if let temporaryProof {
      guard let phoneNumber else { throw .missingPhoneNumber }
      guard phoneNumber.utf8.count <= Self.maxNumberBytes else { throw .invalidTemporaryProof }
      return .temporaryProof(ids: tickets.ids(of: temporaryProof), phoneNumber: phoneNumber)
    }
    let given = try GivenCode(
      code, of: sessionInfo, project: command.project, app: command.app, client: command.client)
    return .code(try PhoneCode(given, for: .signIn, hashes))
  }
}
