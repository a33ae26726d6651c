import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.revokeToken`: has the coordinator revoke a token of Sign in with Apple, and waits for the end.
struct RevokeTokenOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let caller: CommandCaller
  private let app: String
  /// `nil` for an app that is the client itself.
  private let clientID: String?
  private let token: Secret
  private let kind: AppleToken.Kind
  private let redirectURI: String?
  private let flow: RevocationFlow

  private static let maxTokenBytes = 4096
  private static let maxRedirectURIBytes = 2048

  init(_ command: RevokeToken, _ envelope: Envelope, at now: UnixTime, _ flow: RevocationFlow) throws(APIError) {
    let reader = flow.parts.reader
    let project = try reader.project(command.project)
    guard command.providerID == AppleRevocation.provider else { throw .noRevocation }
    // Without one, an app that is the only one of its project.
    guard let app = command.app ?? (project.apps.count == 1 ? project.apps.first?.id : nil) else { throw .missingApp }
    guard let known = project.app(id: app) else { throw .appNotFound }
    token = try reader.open(command.token, "token", of: envelope, replyKey: nil)
    guard !token.isEmpty, token.reveal().utf8.count <= Self.maxTokenBytes else { throw .malformedToken }
    guard command.redirectURI?.utf8.count ?? 0 <= Self.maxRedirectURIBytes else { throw .malformedRedirectURI }
    caller = try CommandCaller(command.idToken, project: project.id, of: envelope, at: now, reader)
    self.app = app
    clientID = project.servicesID(of: known)
    self.flow = flow
    kind = command.tokenType
    redirectURI = command.redirectURI
    fingerprints = reader.hashes.fingerprints(
      "revoke", [project.id, caller.text, app, kind.rawValue, token.reveal(), redirectURI ?? ""])
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, flow.parts.rules.sessions) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    guard let identity = holder.account.identity(at: AppleRevocation.provider) else {
      return CommandAnswer(.noAppleIdentity)
    }
    guard let deadline = AppleRevocation.deadline(of: envelope, at: set.now) else {
      return CommandAnswer(.requesterGone)
    }
    guard let id = id(of: holder.account) else { throw StoreError.unreadableBody }
    let known = try AppleRevocation.find(id, in: set)
    let subject = kind == .authorizationCode ? identity.subject : nil
    var revocation = known ?? AppleRevocation(id, of: holder.account, subject: subject)
    guard revocation.waiting.count < AppleRevocation.maxWaiting else { return CommandAnswer(.revocationUndecided) }
    revocation.waiting.append(
      AppleRevocation.Waiting(
        envelope: envelope, fingerprint: fingerprint, deadline: deadline, session: holder.session.id.text))
    if known == nil { try start(id, subject: subject, cause: envelope, until: deadline, in: &set) }
    try revocation.store(in: &set)
    return nil
  }

  /// The same account and token have the same.
  private func id(of account: AccountRecord) -> RecordID? {
    let parts = [account.id.text, app, kind.rawValue, token.reveal(), redirectURI ?? ""]
    return RecordID(AppleRevocation.kind, flow.parts.hashes.id("revocation", parts))
  }

  private func start(
    _ id: RecordID, subject: String?, cause: Envelope, until deadline: UnixTime, in set: inout WorkingSet
  ) throws(StoreError) {
    // The coordinator knows the token again by itself. Under the same ID its answer would be that about a failed one.
    let messageID = "\(id.text).\(set.now.milliseconds)"
    let context = SealContext(messageType: StartRevocation.type, messageID: messageID, recipient: app)
    let sealed: SecretField
    do throws(SealError) {
      sealed = try flow.parts.sealer.seal(token, for: context)
    } catch {
      throw StoreError(.content, "the token of a revocation \(error)")
    }
    var command = StartRevocation(
      app: app, clientID: clientID, token: AppleToken(kind, sealed), redirectURI: redirectURI)
    command.subject = subject
    try set.send(
      .command(
        command, id: messageID, correlationID: AppleRevocation.correlationID(of: id), replyTo: flow.parts.replyQueue,
        cause: cause, deadline: deadline, at: set.now))
  }

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    guard case .success(let holder) = try caller.holder(in: set, flow.parts.rules.sessions),
      let id = id(of: holder.account), var revocation = try AppleRevocation.find(id, in: set),
      revocation.renew(envelope)
    else { return false }
    try revocation.store(in: &set)
    return true
  }
}

extension Project {
  /// Services ID that Apple issues the tokens of an app to: of one of the web, unless it bears that name itself.
  fileprivate func servicesID(of app: ProjectApp) -> String? {
    let named = providers[AppleRevocation.provider]?.clientIDs ?? []
    return app.platform == .web && !named.contains(app.id) ? named.first : nil
  }
}
