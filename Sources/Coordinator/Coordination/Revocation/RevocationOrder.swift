import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// A validated `revocation.start` request.
struct RevocationOrder: CommandOrder {
  var app: AppProfile
  var revocation: Revocation
  var token: TokenHash
  /// The body of the revocation worker's job, its token sealed.
  var job: [UInt8]
  let service: RevocationService

  var fingerprint: [UInt8] { fingerprint(isFormer: false) }

  func formerFingerprints() -> [[UInt8]] { token.earlier == nil ? [] : [fingerprint(isFormer: true)] }

  /// The hash of the token in it is keyed already.
  private func fingerprint(isFormer: Bool) -> [UInt8] {
    CommandFingerprint.hash(
      StartRevocation.type.text, [app.id, CommandFingerprint.text(token, isFormer: isFormer)])
  }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.addKeys(of: self, to: &keys, at: now)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.start(self, envelope, in: &set)
  }
}

/// Parses `revocation.start`, and does all work that needs no transaction.
struct RevocationDecoder: Sendable {
  private let rules: CoordinatorRules
  private let hashes: KeyedHashes
  private let jobs: RevocationJobs
  private let keys: KeyRing
  private let service: RevocationService

  init(
    _ rules: CoordinatorRules, hashes: KeyedHashes, jobs: RevocationJobs, keys: KeyRing, service: RevocationService
  ) {
    self.rules = rules
    self.hashes = hashes
    self.jobs = jobs
    self.keys = keys
    self.service = service
  }

  /// - Throws: the error for the requester.
  func order(_ command: StartRevocation, _ envelope: Envelope, at now: UnixTime) throws(APIError) -> RevocationOrder {
    guard !command.app.isEmpty else { throw .missingApp }
    guard let app = rules.apps[command.app] else { throw .unknownApp }
    try Self.check(command)
    let token = try token(command, app, envelope)
    let notice = try notice(command.notify, app)
    let hash = hashes.hash(appleToken: token, app: app.id)
    let revocation = Revocation(
      id: VerificationID.make(at: now), app: app.id, tokenHash: hash.current, notice: notice, at: now,
      under: rules.revocation)
    do {
      return RevocationOrder(
        app: app, revocation: revocation, token: hash, job: try jobs.revocation(command, token, revocation),
        service: service)
    } catch {
      throw APIError(.internalError, "the token cannot be sealed: check 'keysFile' of the coordinator")
    }
  }

  /// Oversized fields would not fit into the jobs.
  private static func check(_ command: StartRevocation) throws(APIError) {
    let fields = [
      ("clientID", command.clientID, 255), ("redirectURI", command.redirectURI, 2048),
      ("notify.template", command.notify?.template, 64),
    ]
    for (name, value, limit) in fields where (value?.utf8.count ?? 0) > limit {
      throw APIError(.invalidArgument, "\(name) is longer than \(limit) bytes", field: name)
    }
  }

  private func token(
    _ command: StartRevocation, _ app: AppProfile, _ envelope: Envelope
  ) throws(APIError) -> Secret {
    let field = command.token.kind.rawValue
    let context = SealContext(messageType: StartRevocation.type, messageID: envelope.messageID, recipient: app.id)
    let token: Secret
    do {
      token = try command.token.secret.open(with: keys, for: context)
    } catch {
      throw APIError(.invalidArgument, "\(field) \(error)", field: field)
    }
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
    notice.template = notice.template.flatMap { $0.isEmpty ? nil : $0 } ?? rules.revocation.noticeTemplate
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
}

/// Makes the jobs of a revocation.
struct RevocationJobs: Sendable {
  private let sealer: Sealer

  init(sealer: Sealer) {
    self.sealer = sealer
  }

  /// The body of the revocation worker's job, its token sealed for this job and this app.
  func revocation(_ command: StartRevocation, _ token: Secret, _ revocation: Revocation) throws -> [UInt8] {
    let context = SealContext(
      messageType: AppleRevokeJob.type, messageID: JobName(revocation.id, .revoke).text, recipient: revocation.app)
    return try AppleRevokeJob(
      app: revocation.app, clientID: command.clientID,
      token: AppleToken(command.token.kind, try sealer.seal(token, for: context)), redirectURI: command.redirectURI,
      deadline: revocation.expiresAt
    ).json()
  }

  /// The body of the mail worker's job.
  /// - Parameter appName: the name of the app in the mail.
  func notice(_ notice: StartRevocation.Notice, template: String, appName: String?, deadline: UnixTime)
    throws(StoreError) -> [UInt8]
  {
    try MailRelayJob(
      to: notice.email,
      content: .template(
        name: notice.template ?? template, languageCode: notice.languageCode,
        variables: MailRelayJob.Variables(appName: appName)),
      deadline: deadline
    ).written()
  }
}
