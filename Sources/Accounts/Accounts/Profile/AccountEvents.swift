import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Names of fields in ``AccountUpdated``.
enum AccountField {
  static let displayName = "displayName"
  static let photoURL = "photoURL"
  static let phoneNumber = "phoneNumber"
}

extension WorkingSet {
  mutating func announceCreation(
    of account: AccountRecord, provider: SignInProvider, cause: Envelope
  ) throws(StoreError) {
    let event = AccountCreated(
      project: account.project, localID: account.localID, createdAt: account.createdAt, provider: provider.name)
    try announce(event, of: account, id: "created", cause: cause)
  }

  /// `eventID` is random, and the same in each run of the command.
  mutating func announceUpdate(
    of account: AccountRecord, fields: [String], _ eventID: String, cause: Envelope
  ) throws(StoreError) {
    let event = AccountUpdated(project: account.project, localID: account.localID, updatedAt: now, fields: fields)
    try announce(event, of: account, id: "updated.\(eventID)", cause: cause)
  }

  @discardableResult
  mutating func announceDeletion(of account: AccountRecord, cause: Envelope?) throws(StoreError) -> AccountDeleted {
    let event = AccountDeleted(project: account.project, localID: account.localID, deletedAt: now)
    try announce(event, of: account, id: "deleted", cause: cause)
    return event
  }

  private mutating func announce(
    _ event: some Event, of account: AccountRecord, id: String, cause: Envelope?
  ) throws(StoreError) {
    var message = try OutgoingMessage.event(
      event, id: "\(account.id.text).\(id)", correlationID: account.id.text, cause: cause, at: now)
    // Every service reads events, and the ID of a command that yields tokens is the requester's alone.
    message.causationID = nil
    try send(message)
  }
}
