import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

struct RevocationFlow: Flow {
  private let rules: CoordinatorRules
  private let hashes: KeyedHashes
  private let keys: KeyRing
  private let service: RevocationService

  init(
    _ rules: CoordinatorRules, hashes: KeyedHashes, keys: KeyRing, limits: RateLimits, metrics: CoordinatorMetrics
  ) {
    self.rules = rules
    self.hashes = hashes
    self.keys = keys
    service = RevocationService(rules, limits: limits, metrics: metrics)
  }

  var commands: [CommandKind] {
    [
      // Carried out at any age: a revocation has to happen.
      CommandKind(StartRevocation.self) { command, envelope, now throws(APIError) in
        try order(command, envelope, at: now)
      },
      CommandKind(ConfirmRevocation.self) { [service] command, envelope, _ throws(APIError) in
        try ConfirmRevocationOrder(command, envelope, service)
      },
    ]
  }

  var reports: [ReportKind] {
    [
      ReportKind(onJob: AppleRevokeJob.type, .revoke) { [service] id, report, _ in
        RevocationReport(id: id, event: .revokeFinished(report), service: service)
      },
      ReportKind(onDelayOf: AppleRevokeJob.type, .revoke) { [service] id, report in
        RevocationReport(id: id, event: .revokeDelayed(report), service: service)
      },
      ReportKind(onJob: MailRelayJob.type, .notice) { [service] id, report, _ in
        RevocationReport(id: id, event: .noticeFinished(report), service: service)
      },
      ReportKind(onDelayOf: MailRelayJob.type, .notice) { [service] id, report in
        RevocationReport(id: id, event: .noticeDelayed(report), service: service)
      },
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(RevocationRecords.kind, part: .endOperations) { [service] record, set throws(StoreError) in
        try service.end(record, in: &set)
      }
    ]
  }

  var operations: [OperationRecords] {
    [
      OperationRecords(RevocationRecords.kind) { record, _ throws(StoreError) in
        OperationStatus(try Revocation(record))
      }
    ]
  }

  // MARK: revocation.start

  private func order(
    _ command: StartRevocation, _ envelope: Envelope, at now: UnixTime
  ) throws(APIError) -> RevocationOrder {
    let app = try rules.app(command.app)
    try Self.check(command)
    let token = try token(command, app, envelope)
    let notice = try notice(command.notify, app)
    let hash = hashes.hash(appleToken: token, app: app.id, subject: command.subject)
    let revocation = Revocation(
      id: VerificationID.make(at: now), app: app.id, tokenHash: hash.current, notice: notice, at: now,
      under: rules.revocation)
    do {
      return RevocationOrder(
        revocation: revocation, token: hash, job: try job(command, token, revocation), service: service)
    } catch {
      throw APIError(.internalError, "the token cannot be sealed: check 'keysFile' of the coordinator")
    }
  }

  /// Oversized fields would not fit into the jobs.
  private static func check(_ command: StartRevocation) throws(APIError) {
    let fields = [
      ("clientID", command.clientID, 255), ("redirectURI", command.redirectURI, 2048),
      ("subject", command.subject, AppleRevokeJob.maxSubjectBytes), ("notify.template", command.notify?.template, 64),
    ]
    for (name, value, limit) in fields where (value?.utf8.count ?? 0) > limit {
      throw APIError(.invalidArgument, "\(name) is longer than \(limit) bytes", field: name)
    }
    guard command.subject.map({ !$0.isEmpty && command.token.kind == .authorizationCode }) ?? true else {
      throw APIError(
        .invalidArgument, "subject is compared for an authorizationCode only, and is not empty", field: "subject")
    }
  }

  private func token(
    _ command: StartRevocation, _ app: AppProfile, _ envelope: Envelope
  ) throws(APIError) -> Secret {
    let field = command.token.kind.rawValue
    let context = SealContext(messageType: StartRevocation.type, messageID: envelope.messageID, recipient: app.id)
    let token = try command.token.secret.read(with: keys, context, field: field)
    guard !token.isEmpty else { throw APIError(.invalidArgument, "\(field) is empty", field: field) }
    try TokenLimit.check(token, field: field)
    return token
  }

  private func notice(
    _ notice: StartRevocation.Notice?, _ app: AppProfile
  ) throws(APIError) -> StartRevocation.Notice? {
    guard var notice else { return nil }
    guard Self.isAddress(notice.email) else {
      throw APIError(
        .invalidArgument, "notify.email must be an address such as user@example.com, without a display name",
        field: "notify.email")
    }
    notice.languageCode = try LanguageTag.check(notice.languageCode, field: "notify.languageCode") ?? app.languageCode
    notice.template = CommandFields.unlessEmpty(notice.template) ?? rules.revocation.noticeTemplate
    return notice
  }

  /// Whether the mail worker may accept it: it checks more strictly, but by then the token is revoked already.
  private static func isAddress(_ text: String) -> Bool {
    guard text.utf8.count <= maxAddressLength, let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return false }
    let isClean = text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">") }
    return isClean && at != text.utf8.startIndex && text.utf8.index(after: at) != text.utf8.endIndex
  }

  /// RFC 5321, section 4.5.3.1.3: a path has 256 octets, two of them brackets.
  private static let maxAddressLength = 254

  private func job(_ command: StartRevocation, _ token: Secret, _ revocation: Revocation) throws -> [UInt8] {
    let context = SealContext(
      messageType: AppleRevokeJob.type, messageID: JobName(revocation.id, .revoke).text, recipient: revocation.app)
    var job = AppleRevokeJob(
      app: revocation.app, clientID: command.clientID,
      token: AppleToken(command.token.kind, try Sealer(keys: keys).seal(token, for: context)),
      redirectURI: command.redirectURI, deadline: revocation.expiresAt)
    job.subject = command.subject
    return try job.json()
  }
}

struct RevocationOrder: CommandOrder {
  let revocation: Revocation
  let token: TokenHash
  /// The body of the revocation worker's job, its token sealed.
  let job: [UInt8]
  let service: RevocationService

  var fingerprint: [UInt8] { fingerprint(isFormer: false) }

  func formerFingerprints() -> [[UInt8]] { token.earlier == nil ? [] : [fingerprint(isFormer: true)] }

  /// The hash of the token in it is keyed already.
  private func fingerprint(isFormer: Bool) -> [UInt8] {
    CommandFingerprint.hash(
      StartRevocation.type.text, [revocation.app, CommandFingerprint.text(token, isFormer: isFormer)])
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.start(self, envelope, in: &set)
  }
}

/// `revocation.confirm`: what Apple has told `accounts`.
struct ConfirmRevocationOrder: CommandOrder {
  private let command: ConfirmRevocation
  private let service: RevocationService

  init(_ command: ConfirmRevocation, _ envelope: Envelope, _ service: RevocationService) throws(APIError) {
    guard envelope.userID == Topology.Users.accounts else { throw .notToConfirm }
    (self.command, self.service) = (command, service)
  }

  var fingerprint: [UInt8] {
    CommandFingerprint.hash(ConfirmRevocation.type.text, [command.operationID, command.confirmedAt.rfc3339])
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.handle(.confirmed(at: command.confirmedAt), on: command.operationID, cause: envelope, in: &set)
    guard let revocation = try service.records.revocation(command.operationID, in: set) else {
      return CommandAnswer(.noRevocation)
    }
    return try CommandAnswer(OperationStatus(revocation))
  }
}

struct RevocationReport: Report {
  let id: String
  let event: RevocationEvent
  let service: RevocationService

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    try service.handle(event, on: id, cause: cause, in: &set)
  }
}

extension APIError {
  fileprivate static let noRevocation = APIError(
    .invalidArgument, "there is no such revocation, or no longer", field: "operationID")
  fileprivate static let notToConfirm = APIError(
    .operationNotAllowed, "accounts alone confirms a revocation: Apple tells it", field: "user_id")
}
