import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// The coordinator's revocations of tokens that are proven to be a subject's: what Apple tells of the subject afterwards
/// confirms them.
///
/// It outlives the account, since most revocations end with it. Its ID is a hash, so it names no subject.
struct SubjectRevocations: Sendable {
  struct Operation: Sendable, Hashable {
    let id: String
    let startedAt: UnixTime
  }

  static let kind = RecordKind("subjectRevocations")
  /// The latest count.
  static let maxOperations = 8
  /// Time for which the coordinator keeps an operation, unless it is configured otherwise.
  static let retention = Duration.seconds(30 * 86_400)
  /// Time for which a coordinator that is away is still told.
  static let patience = GrantRevocation.patience

  let id: RecordID
  private var operations: [Operation] = []

  static func id(of subject: String, project: String) throws(StoreError) -> RecordID {
    let parts = [project, AppleRevocation.provider, subject]
    guard let id = RecordID(kind, Base64URL.encode(AccountHashes.digest("subject revocations", parts))) else {
      throw StoreError.unreadableBody
    }
    return id
  }

  /// Keeps an operation, as it is known to run.
  static func note(
    _ operation: Operation, of subject: String, project: String, in set: inout WorkingSet
  ) throws(StoreError) {
    let id = try id(of: subject, project: project)
    let record = try set.record(id)
    var known = try record.map { record throws(StoreError) in try Self(record) } ?? Self(id: id)
    guard !known.operations.contains(where: { $0.id == operation.id }) else { return }
    known.operations.append(operation)
    known.operations.removeFirst(max(0, known.operations.count - maxOperations))
    try set.store(id, known, isNew: record == nil, dueAt: nil, discardAt: set.now + retention)
  }

  /// Tells the coordinator that Apple confirms what it knows of a subject, once.
  ///
  /// - Parameter consentedAt: last consent of the user. What came before it is not what an event after it is about.
  static func confirm(
    _ event: AppleNotice.Event, consentedAt: UnixTime?, project: String, replyQueue: String, cause: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) {
    let id = try id(of: event.subject, project: project)
    guard let record = try set.record(id) else { return }
    let known = try Self(record)
    try set.remove(id)
    let end = consentedAt.flatMap { $0 <= event.happenedAt ? $0 : nil }
    for operation in known.operations where end.map({ $0 <= operation.startedAt }) ?? true {
      let command = ConfirmRevocation(operationID: operation.id, confirmedAt: event.happenedAt)
      try set.send(
        .command(
          command, id: "\(operation.id).confirmed", correlationID: AwaitedReply.correlationID(kind, id.text),
          replyTo: replyQueue, cause: cause, deadline: set.now + patience, at: set.now))
    }
  }
}

extension SubjectRevocations {
  private init(id: RecordID) { self.id = id }
}

extension SubjectRevocations: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ known: Self?) throws(UnreadableFields) {
    id = record.id
    operations = try fields.list(16, known?.operations)
  }
}

extension SubjectRevocations.Operation {
  init(_ reply: OperationStarted) { self.init(id: reply.operationID, startedAt: reply.startedAt) }
}

extension SubjectRevocations.Operation: FieldCoded {
  init(_ fields: inout FieldCoder, _ operation: Self?) throws(UnreadableFields) {
    id = try fields.required(1, operation?.id)
    startedAt = try fields.required(2, operation?.startedAt)
  }
}
