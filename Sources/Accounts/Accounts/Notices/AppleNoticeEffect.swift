import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Effect of an event at Apple on the account that has the identity.
struct AppleNoticeEffect {
  private static let provider = AppleSettings.id

  let event: AppleNotice.Event
  let project: String
  let parts: AccountParts
  /// Random, and the same in each run of the command.
  let id: String
  let cause: Envelope

  static func addKeys(of event: AppleNotice.Event, project: String, to keys: inout StoreKeys) throws(StoreError) {
    keys.add(holderOf: try AccountRecord.key(ofIdentity: event.subject, at: provider, project: project))
    if event.endsConsent { keys.add(record: try SubjectRevocations.id(of: event.subject, project: project)) }
  }

  func apply(in set: inout WorkingSet) throws(StoreError) {
    let key = try AccountRecord.key(ofIdentity: event.subject, at: Self.provider, project: project)
    let before = try AccountRecord.find(holderOf: key, in: set)
    var effect = AppleNotified.Effect.none
    if let before, let identity = before.identity(at: Self.provider) {
      var account = before
      effect = try change(&account, identity, in: &set)
      if effect == .unlinked, endsAccount(account) {
        try delete(before, in: &set)
        effect = .deleted
      } else if account != before {
        try account.store(in: &set)
        try AccountEvents(account, id, cause).changes(from: before, in: &set)
      }
    }
    if event.endsConsent {
      try SubjectRevocations.confirm(
        event, consentedAt: before?.identity(at: Self.provider)?.provenAt, project: project,
        replyQueue: parts.replyQueue, cause: cause, in: &set)
    }
    try announce(effect, before, in: &set)
  }

  private func change(
    _ account: inout AccountRecord, _ identity: LinkedIdentity, in set: inout WorkingSet
  ) throws(StoreError) -> AppleNotified.Effect {
    switch event.kind {
    case AppleNotice.Kind.emailDisabled: return note(isOff: true, identity, on: &account)
    case AppleNotice.Kind.emailEnabled: return note(isOff: false, identity, on: &account)
    case AppleNotice.Kind.consentRevoked, AppleNotice.Kind.accountDeleted:
      // The user has consented anew since.
      guard event.happenedAt >= identity.provenAt else { return .none }
      try unlink(&account, in: &set)
      return .unlinked
    default: return .none
    }
  }

  /// The later event counts, in whichever order they arrive.
  private func note(isOff: Bool, _ identity: LinkedIdentity, on account: inout AccountRecord) -> AppleNotified.Effect {
    guard let address = identity.email?.normalizedAddress, (event.email?.normalizedAddress ?? address) == address,
      identity.mailNotedAt.map({ $0 < event.happenedAt }) ?? true,
      let index = account.identities.firstIndex(of: identity)
    else { return .none }
    account.identities[index].isMailOff = isOff
    account.identities[index].mailNotedAt = event.happenedAt
    return isOff ? .mailOff : .mailOn
  }

  /// Whether the account goes with its last way in. One that an administrator made, or has disabled, is for administrators
  /// to delete, and to one with an address a link may still lead.
  private func endsAccount(_ account: AccountRecord) -> Bool {
    parts.rules.projects.current[project]?.withoutWayIn == .delete && account.isSelfMade && !account.isDisabled
      && !account.hasWayIn && account.email == nil
  }

  /// The identity goes with the account, so that its address is forgotten, too.
  private func delete(_ before: AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    var account = before
    account.forgetGrant(at: Self.provider)
    account.appleRevokedAt = max(account.appleRevokedAt ?? event.happenedAt, event.happenedAt)
    try parts.deletion.delete(account, cause: nil, in: &set)
  }

  /// The account stays, also without a way in. Other ways' sessions go on.
  private func unlink(_ account: inout AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    let apple = SignInProvider(name: Self.provider)
    account.forgetGrant(at: Self.provider)
    account.unlink([Self.provider])
    let others = try parts.sessions.all(of: account, in: set).filter { $0.firstFactor != apple }
    // Without others, also those who compare ID tokens with the account's `validSince` get to know.
    if others.isEmpty { return try parts.sessions.endAll(of: &account, in: &set) }
    try parts.sessions.end(of: account, by: [apple], in: &set)
  }

  private func announce(
    _ effect: AppleNotified.Effect, _ account: AccountRecord?, in set: inout WorkingSet
  ) throws(StoreError) {
    var notified = AppleNotified(
      project: project, subject: event.subject, kind: event.kind, happenedAt: event.happenedAt, effect: effect)
    notified.localID = account?.localID
    var message = try OutgoingMessage.event(
      notified, id: "apple.\(id)", correlationID: account?.id.text ?? id, cause: cause, at: set.now)
    message.causationID = nil
    try set.send(message)
  }
}

extension AccountRecord {
  /// Apple has voided the token, so there is nothing to revoke.
  fileprivate mutating func forgetGrant(at provider: String) {
    for index in identities.indices where identities[index].provider == provider { identities[index].grant = nil }
  }
}

extension LinkedIdentity {
  /// Time, at the provider, of the last proof that the user has it.
  fileprivate var provenAt: UnixTime { lastProvenAt ?? linkedAt }
}
