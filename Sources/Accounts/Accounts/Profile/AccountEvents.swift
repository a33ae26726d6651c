import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Events that a command leads to on one account.
struct AccountEvents {
  private let account: AccountRecord
  /// Random, and the same in each run of the command.
  private let id: String
  private let cause: Envelope

  init(_ account: AccountRecord, _ id: String, _ cause: Envelope) {
    (self.account, self.id, self.cause) = (account, id, cause)
  }

  func created(by provider: SignInProvider, in set: inout WorkingSet) throws(StoreError) {
    let event = AccountCreated(
      project: account.project, localID: account.localID, createdAt: account.createdAt, provider: provider.name)
    try set.announce(event, of: account, id: "created", cause: cause)
  }

  func signedIn(
    by provider: SignInProvider, with secondFactor: SecondFactorKind?, isNewUser: Bool, in set: inout WorkingSet
  ) throws(StoreError) {
    var event = AccountSignIn(
      project: account.project, localID: account.localID, provider: provider.name, signedInAt: set.now,
      isNewUser: isNewUser)
    event.secondFactor = secondFactor
    try set.announce(event, of: account, id: "signIn.\(id)", cause: cause)
  }

  /// Further and lost ways to sign in, and other fields that have changed.
  func changes(from before: AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    for way in account.ways where !before.ways.contains(way) {
      let event = AccountLinked(
        project: account.project, localID: account.localID, provider: way, linkedAt: set.now)
      try set.announce(event, of: account, id: "linked.\(way).\(id)", cause: cause)
    }
    for way in before.ways where !account.ways.contains(way) {
      let event = AccountUnlinked(
        project: account.project, localID: account.localID, provider: way, unlinkedAt: set.now)
      try set.announce(event, of: account, id: "unlinked.\(way).\(id)", cause: cause)
    }
    try secondFactors(from: before, in: &set)
    try consents(from: before, in: &set)
    let fields = Self.fields(changedFrom: before, to: account)
    guard !fields.isEmpty else { return }
    let event = AccountUpdated(
      project: account.project, localID: account.localID, updatedAt: set.now, fields: fields)
    try set.announce(event, of: account, id: "updated.\(id)", cause: cause)
  }

  private func secondFactors(from before: AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    for factor in before.secondFactors where !account.hasSame(factor) {
      let event = SecondFactorWithdrawn(
        project: account.project, localID: account.localID, enrollmentID: factor.enrollmentID, kind: factor.kind,
        withdrawnAt: set.now)
      try set.announce(event, of: account, id: "withdrawn.\(factor.enrollmentID).\(id)", cause: cause)
    }
    for factor in account.secondFactors where !before.hasSame(factor) {
      let event = SecondFactorEnrolled(
        project: account.project, localID: account.localID, enrollmentID: factor.enrollmentID, kind: factor.kind,
        enrolledAt: factor.enrolledAt)
      try set.announce(event, of: account, id: "enrolled.\(factor.enrollmentID).\(id)", cause: cause)
    }
  }

  private func consents(from before: AccountRecord, in set: inout WorkingSet) throws(StoreError) {
    let changed = account.consents.filter { $0 != before.consent(to: $0.consent.purpose) }
    let lost = before.consents.filter { $0.isInForce && account.consent(to: $0.consent.purpose) == nil }
    for (place, recorded) in (changed + lost).enumerated() {
      let isGiven = place < changed.count && recorded.isInForce
      let event = ConsentChanged(
        project: account.project, localID: account.localID, purpose: recorded.consent.purpose,
        textVersion: recorded.consent.textVersion, isGiven: isGiven, changedAt: set.now)
      try set.announce(event, of: account, id: "consent.\(place).\(id)", cause: cause)
    }
  }

  private static func fields(changedFrom before: AccountRecord, to account: AccountRecord) -> [String] {
    var fields: [String] = []
    if account.displayName != before.displayName { fields.append("displayName") }
    if account.photoURL != before.photoURL { fields.append("photoURL") }
    if account.phoneNumber != before.phoneNumber { fields.append("phoneNumber") }
    if account.address?.email != before.address?.email { fields.append("email") }
    if account.passwordChangedAt != before.passwordChangedAt { fields.append("password") }
    if account.isDisabled != before.isDisabled { fields.append("disabled") }
    if account.claims != before.claims { fields.append("customAttributes") }
    return fields
  }
}

extension AccountRecord {
  /// Whether it has the factor, with the same number.
  fileprivate func hasSame(_ factor: SecondFactor) -> Bool {
    secondFactor(factor.enrollmentID).map { $0.phoneNumber == factor.phoneNumber } ?? false
  }
}

extension WorkingSet {
  @discardableResult
  mutating func announceDeletion(of account: AccountRecord, cause: Envelope?) throws(StoreError) -> AccountDeleted {
    let event = AccountDeleted(project: account.project, localID: account.localID, deletedAt: now)
    try announce(event, of: account, id: "deleted", cause: cause)
    return event
  }

  fileprivate mutating func announce(
    _ event: some Event, of account: AccountRecord, id: String, cause: Envelope?
  ) throws(StoreError) {
    var message = try OutgoingMessage.event(
      event, id: "\(account.id.text).\(id)", correlationID: account.id.text, cause: cause, at: now)
    // Every service reads events, and the ID of a command that yields tokens is the requester's alone.
    message.causationID = nil
    try send(message)
  }
}
