import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Effect of an event at Apple on the account that has the identity.
struct AppleNoticeEffect {
  private static let provider = AppleSettings.id

  let event: AppleNotice.Event
  let project: String
  let sessions: Sessions
  /// Random, and the same in each run of the command.
  let id: String
  let cause: Envelope

  static func addKeys(of event: AppleNotice.Event, project: String, to keys: inout StoreKeys) throws(StoreError) {
    keys.add(holderOf: try AccountRecord.key(ofIdentity: event.subject, at: provider, project: project))
  }

  func apply(in set: inout WorkingSet) throws(StoreError) {
    let key = try AccountRecord.key(ofIdentity: event.subject, at: Self.provider, project: project)
    let before = try AccountRecord.find(holderOf: key, in: set)
    var effect = AppleNotified.Effect.none
    if let before, let identity = before.identity(at: Self.provider) {
      var account = before
      effect = try change(&account, identity, in: &set)
      if account != before {
        try account.store(in: &set)
        try AccountEvents(account, id, cause).changes(from: before, in: &set)
      }
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

  /// The account stays, also without a way in. Other ways' sessions go on.
  private func unlink(_ account: inout AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    let apple = SignInProvider(name: Self.provider)
    // Apple has voided the token, so there is nothing to revoke.
    for index in account.identities.indices where account.identities[index].provider == Self.provider {
      account.identities[index].grant = nil
    }
    account.unlink([Self.provider])
    let others = try sessions.all(of: account, in: set).filter { $0.firstFactor != apple }
    // Without others, also those who compare ID tokens with the account's `validSince` get to know.
    if others.isEmpty { return try sessions.endAll(of: &account, in: &set) }
    try sessions.end(of: account, by: [apple], in: &set)
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

extension LinkedIdentity {
  /// Time, at the provider, of the last proof that the user has it.
  fileprivate var provenAt: UnixTime { lastProvenAt ?? linkedAt }
}
