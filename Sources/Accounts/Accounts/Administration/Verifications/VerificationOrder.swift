import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.startVerification`, `.checkVerification`, `.getVerification` and `.cancelVerification`: has the coordinator
/// carry out a command of a service, and waits for its answer.
///
/// Subject of the verification is the service account, so that no other one finds it.
struct VerificationOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let type: MessageType
  private let project: String
  private let check: AdministratorCheck
  private let key: String?
  private let app: String?
  /// Failures are those of what the command says, and for callers with a say alone.
  private let request: Result<VerificationRequest, APIError>
  private let ids: [RecordID]
  private let parts: AccountParts

  init<C: ServiceVerificationCommand>(
    _ command: C, _ envelope: Envelope, _ parts: AccountParts
  ) throws(APIError) {
    let reader = parts.reader
    type = C.type
    project = try reader.project(command.project).id
    check = try AdministratorCheck(
      bearer: command.bearer, project: project, role: .verifications, of: envelope, replyKey: nil, reader)
    key = command.requestKey
    app = command.expectedApp.flatMap { $0.isEmpty ? nil : $0 }
    request = Result { () throws(APIError) -> VerificationRequest in
      try Self.judge(key: command.requestKey)
      return try command.request(of: envelope, reader)
    }
    let content: [String]
    switch request {
    case .success(let request): content = request.parts
    case .failure: content = []
    }
    ids = VerificationCall.ids(of: envelope, reader.hashes)
    self.parts = parts
    fingerprints = reader.hashes.fingerprints(
      "service verification", [type.text, project, key ?? "", app ?? ""] + content)
  }

  private static func judge(key: String?) throws(APIError) {
    guard let key else { return }
    guard (1...StartServiceVerification.maxIdempotencyKeyBytes).contains(key.utf8.count),
      key.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .malformedIdempotencyKey }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    for id in ids { keys.add(record: id) }
  }

  // MARK: Carrying out

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let administrator: Administrator
    switch try check.administrator(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): administrator = found
    }
    let request: VerificationRequest
    switch self.request {
    case .failure(let error): return CommandAnswer(error)
    case .success(let read): request = read
    }
    guard let deadline = PhoneCheck.deadline(of: envelope, at: set.now) else { return CommandAnswer(.requesterGone) }
    guard let id = ids.first else { throw StoreError.unreadableBody }
    let call = VerificationCall(
      id: id, messageID: messageID(of: administrator, envelope), app: app, fingerprint: fingerprint,
      deadline: deadline, envelope: envelope)
    try call.store(in: &set)
    try set.send(message(request, for: call, of: administrator, at: set.now))
    return nil
  }

  /// The same for each request with a key: the coordinator carries it out once, and answers alike. Without a key that
  /// of the command.
  private func messageID(of administrator: Administrator, _ envelope: Envelope) -> String {
    let place = key.map { ["key", $0] } ?? ["message", envelope.identity.key]
    return parts.hashes.id("service verification", [project, administrator.name, type.text] + place)
  }

  private func message(
    _ request: VerificationRequest, for call: VerificationCall, of administrator: Administrator, at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    let subject = Hexadecimal.encode(
      AccountHashes.digest("service verification", [project, administrator.name]))
    func send(_ command: some Command) throws(StoreError) -> OutgoingMessage {
      try .command(
        command, id: call.messageID, correlationID: call.correlationID, replyTo: parts.replyQueue,
        cause: call.envelope, deadline: call.deadline, at: now)
    }
    switch request {
    case .start(var start):
      start.subject = subject
      return try send(start)
    case .check(let given):
      return try send(
        CheckVerification(
          verificationID: given.verificationID,
          code: given.sealed(under: call.messageID, parts.sealer), app: app, purpose: .verification,
          subject: subject, client: given.address.map { StartVerification.Client(ip: $0) }))
    case .get(let id):
      return try send(
        GetVerificationStatus(verificationID: id, app: app, purpose: .verification, subject: subject))
    case .cancel(let id):
      return try send(CancelVerification(verificationID: id, app: app, purpose: .verification, subject: subject))
    }
  }

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    try VerificationCall.renew(ids, envelope, in: &set)
  }
}
