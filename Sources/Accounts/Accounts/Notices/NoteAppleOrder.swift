import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.noteApple`: verifies a notification of Apple in its stage, and carries it out once in the transaction.
struct NoteAppleOrder: KeyedOrder {
  /// Time beyond the end of a notification for which it is remembered: a command that verified it before is carried out
  /// later.
  private static let lateness = Duration.seconds(60)

  let fingerprints: Fingerprints
  private let project: Project
  private let payload: Secret
  private let provider: any NoticeProvider
  private let parts: AccountParts
  private let eventID = MessageID.make()
  /// Outcome of the stage.
  private var notice: Result<AppleNotice, APIError>?

  init(_ command: NoteApple, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    self.parts = parts
    project = try parts.reader.project(command.project)
    guard let provider = parts.providers[AppleSettings.id] as? any NoticeProvider else {
      throw .invalidNotice("accounts has no provider \(AppleSettings.id)")
    }
    self.provider = provider
    payload = try parts.reader.open(command.payload, "payload", of: envelope, replyKey: nil)
    guard (1...ProviderTokens.maxBytes).contains(payload.reveal().utf8.count) else {
      throw .invalidNotice("it is empty, or longer than \(ProviderTokens.maxBytes) bytes")
    }
    fingerprints = parts.hashes.fingerprints("noteApple", [project.id, payload.reveal()])
  }

  var stage: CommandStage? {
    CommandStage(window: .providers, longest: ProviderSignInOrder.verificationLimit) {
      [self] access throws(StoreError) in
      var order = self
      do throws(APIError) {
        order.notice = .success(try await provider.notice(payload, for: project, at: access.now()))
      } catch {
        order.notice = .failure(error)
      }
      return order
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    guard case .success(let notice) = notice else { return }
    if let used = used(notice) { keys.add(record: used.id) }
    for event in notice.events { try AppleNoticeEffect.addKeys(of: event, project: project.id, to: &keys) }
  }

  /// Each project carries it out.
  private func used(_ notice: AppleNotice) -> UsedCredential? {
    let once = SpentCredential(value: notice.once.value + [project.id], until: notice.once.until)
    return UsedCredential(once, of: AppleSettings.id)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let found: AppleNotice
    switch notice {
    case nil: return CommandAnswer(.providerUnreachable(AppleSettings.id))
    case .failure(let error): return CommandAnswer(error)
    case .success(let notice): found = notice
    }
    guard let used = used(found) else { throw StoreError.unreadableBody }
    guard try !used.isUsed(in: set) else { return try CommandAnswer(AppleNoted(isRepeated: true)) }
    try requireSessions(of: found, in: set)
    for (place, event) in found.events.enumerated() {
      let effect = AppleNoticeEffect(
        event: event, project: project.id, parts: parts, id: "\(eventID).\(place)", cause: envelope)
      try effect.apply(in: &set)
    }
    try used.store(until: found.once.until + Self.lateness, in: &set)
    return try CommandAnswer(AppleNoted(isRepeated: false))
  }

  /// Has the sessions of all accounts loaded at once: a load for each would be too many.
  private func requireSessions(of notice: AppleNotice, in set: WorkingSet) throws(StoreError) {
    var keys = StoreKeys()
    for event in notice.events {
      let key = try AccountRecord.key(ofIdentity: event.subject, at: AppleSettings.id, project: project.id)
      guard let account = try AccountRecord.find(holderOf: key, in: set) else { continue }
      keys.add(group: try SessionRecord.group(ofAccount: account.id))
    }
    try set.require(keys)
  }
}
