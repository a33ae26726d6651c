public import CountersignMessages
public import CountersignTelemetry
public import RecordStore

/// A report that a flow waits for: the result of a job, or the reply of another service.
public struct ReportKind: Sendable {
  /// Sender of a report.
  public enum Origin: Sendable, Hashable {
    /// The workers that take jobs of its type, under their fixed name. Its routing key is this prefix and an outcome.
    case worker(routingKeyPrefix: String)
    /// Another service, under its user of the broker, in answer to a command of this service.
    case service(user: String)
  }

  /// Its type, `sms.dispatch.result.v1`.
  public let type: MessageType
  /// Its sender.
  public let origin: Origin
  let read: @Sendable (ReceivedReport) throws(ContractProblem) -> (any Report)?
  let dropped: (@Sendable (_ jobID: String) -> (any Report)?)?

  public init(
    _ type: MessageType, from origin: Origin, dropped: (@Sendable (_ jobID: String) -> (any Report)?)? = nil,
    read: @escaping @Sendable (ReceivedReport) throws(ContractProblem) -> (any Report)?
  ) {
    self.type = type
    self.origin = origin
    self.dropped = dropped
    self.read = read
  }
}

/// Events of all types that a flow takes, from the queue of a service that waits for no reports.
public struct EventKind: Sendable {
  let users: Set<String>
  let read: @Sendable (ReceivedReport) throws(ContractProblem) -> any Report

  /// - Parameters:
  ///   - users: users of the broker whose events are believed.
  ///   - read: reads an event of whatever type.
  public init(
    from users: Set<String>, read: @escaping @Sendable (ReceivedReport) throws(ContractProblem) -> any Report
  ) {
    self.users = users
    self.read = read
  }
}

/// A report that has arrived, from the sender that may send it.
public struct ReceivedReport: Sendable {
  /// Properties of the message.
  public let envelope: Envelope
  /// Its body.
  public let body: [UInt8]
  /// The outcome in its routing key, which the body has to match. `nil` when there is nothing to compare.
  public let outcome: String?

  public init(envelope: Envelope, body: [UInt8], outcome: String? = nil) {
    self.envelope = envelope
    self.body = body
    self.outcome = outcome
  }

  /// Checks that the body matches the routing key.
  /// - Parameter outcome: the outcome in the body.
  /// - Throws: the problem of a forged report.
  public func check(_ outcome: String) throws(ContractProblem) {
    guard let expected = self.outcome, expected != outcome else { return }
    throw ContractProblem(.forgedResult, field: "routing_key", "does not agree with the outcome")
  }

  /// The result of a job, checked against its envelope.
  /// - Returns: `nil` for a `message_id` that is not that of a result.
  /// - Throws: the problem of a result that contradicts its envelope or its routing key.
  public func jobResult(
    of isOurs: (_ jobID: String) -> Bool
  ) throws(ContractProblem) -> JobResult? {
    // Results of other services' jobs are not parsed: they do not concern this one.
    guard envelope.messageID.hasSuffix(Self.suffix), isOurs(String(envelope.messageID.dropLast(Self.suffix.count)))
    else { return nil }
    let result = try JobResult(json: body)
    try check(result.outcome.rawValue)
    guard envelope.messageID == JobResult.messageID(jobID: result.jobID) else {
      throw ContractProblem(.invalidField, field: "jobID", "must be the message_id without \(Self.suffix)")
    }
    return result
  }

  /// The report of a job's delay, checked against its routing key.
  /// - Throws: the problem of a body or a routing key that is not one of a delay.
  public func jobDelayed() throws(ContractProblem) -> JobDelayed {
    let delayed = try JobDelayed(json: body)
    try check(JobDelayed.word)
    return delayed
  }

  private static let suffix = JobResult.messageID(jobID: "")
}

/// A report, read and checked, ready for its transaction.
public protocol Report: Sendable {
  /// Adds what the report is known to look up; see ``CommandOrder/addFirstKeys(to:at:)``.
  /// - Throws: ``StoreError``, when a key cannot be made.
  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError)

  /// Applies the report, again when it has looked up what is not loaded. One on an operation that is over or deleted changes nothing.
  /// - Parameter cause: properties of the message, for the messages that it leads to.
  /// - Throws: ``StoreError``; an error of the content gives the report up, any other undoes its batch.
  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError)
}

extension Report {
  public func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {}
}

extension ContractProblem.Code {
  /// A report that its user may not send, or under a wrong routing key.
  public static let forgedResult = ContractProblem.Code("FORGED_RESULT")
}
