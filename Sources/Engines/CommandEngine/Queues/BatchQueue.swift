import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import RecordStore

/// Handles the deliveries of one queue.
protocol BatchQueue: Sendable {
  associatedtype Prepared: Sendable

  /// The queue, for dead letters and metrics.
  var queue: String { get }

  /// The user that sent a message, which may break the contract.
  func sender(of message: Message) -> String

  /// Parses a delivery and does all work that needs no transaction.
  func prepare(_ delivery: Delivery, at now: UnixTime, isNew: Bool) throws(Conclusion) -> Prepared

  /// Asynchronous work that must finish before the delivery's own transaction. `nil` when there is no such work.
  func stage(of prepared: Prepared) -> CommandStage?

  /// Whether a delivery only reads. It does so after the transaction of its batch, and sees all earlier messages.
  func isLook(_ prepared: Prepared) -> Bool

  /// Adds what a delivery looks up.
  func addKeys(of prepared: Prepared, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError)

  /// Adds what follows from the records that the first keys have found.
  func addMoreKeys(of prepared: Prepared, to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError)

  func process(_ prepared: Prepared, in set: inout WorkingSet) throws(StoreError) -> Conclusion

  /// The delivery after its stage.
  func staged(_ prepared: Prepared, _ order: any CommandOrder) -> Prepared

  /// Answers a delivery whose transaction fails for a reason of its own.
  func giveUp(_ prepared: Prepared, at now: UnixTime) -> Conclusion

  /// Answers a delivery for whose stage there is no room.
  func refuseBusy(_ prepared: Prepared, at now: UnixTime) -> Conclusion

  /// Answers a message that is given up unread, because it ends the process.
  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion
}

extension BatchQueue {
  func stage(of prepared: Prepared) -> CommandStage? { nil }
  func isLook(_ prepared: Prepared) -> Bool { false }
  func refuseBusy(_ prepared: Prepared, at now: UnixTime) -> Conclusion { giveUp(prepared, at: now) }
  func staged(_ prepared: Prepared, _ order: any CommandOrder) -> Prepared { prepared }
}

/// Remaining work for a delivery after its transaction. Thrown for one that needs no transaction.
struct Conclusion: Error {
  /// The answer, if the sender requested one.
  var reply: SharedMessage?
  /// Reason to dead-letter the delivery, if any.
  var dead: DeadReason?
  /// The command whose messages go out after its reply. An app drops a push whose receipt it does not know yet, and it
  /// learns of the receipt from the reply. When the command is not redelivered after a crash, its messages go out after
  /// ``WorkingSet/longestHold``.
  var holder: InboxKey?
  var label: CommandLabel?

  static let nothing = Conclusion()
}

/// Reason that a message could not be processed.
struct DeadReason: Sendable, Hashable {
  var code: String
  /// For people. Without secrets.
  var text: String

  /// The process died each time it worked on the message alone.
  static let crashed = DeadReason(
    code: CrashMarks.reason,
    text: "the process ended \(MarkPlan.maxDeaths) times while it worked on nothing but this message")
}

/// Labels of a command in the metrics.
struct CommandLabel: Sendable, Hashable {
  /// `verification.start`, or `unknown`.
  var command: String
  /// `OK`, or the code of the error.
  var code: String
}

extension Envelope {
  /// The envelope of a delivery, whose body may have been too large to keep.
  init(_ delivery: Delivery) throws(ContractProblem) {
    guard !delivery.isOversize else {
      throw ContractProblem(.bodyTooLarge, "the body is larger than \(MessageLimits.maxBodyBytes) bytes")
    }
    try self.init(delivery.message)
  }
}
