import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import SQLite

/// Handles the deliveries of one queue.
protocol BatchQueue: Sendable {
  associatedtype Prepared: Sendable

  /// The queue, for dead letters and metrics.
  var queue: String { get }

  /// The user that sent a message, which may break the contract.
  func sender(of message: Message) -> String

  /// Parses a delivery and does all work that needs no transaction.
  func prepare(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<Prepared>

  /// Prepares a delivery once more, for a later time, because it could not be stored.
  func prepareAgain(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<Prepared>

  /// Carries out a prepared delivery.
  /// - Throws: an error that undoes the whole batch.
  func process(_ prepared: Prepared, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Conclusion

  /// Answers a delivery whose transaction fails for a reason of its own.
  func giveUp(_ prepared: Prepared, at now: UnixTime) -> Conclusion

  /// Answers a message that is given up unread, because it ends the process.
  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion
}

extension BatchQueue {
  func prepareAgain(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<Prepared> { prepare(delivery, at: now) }
}

/// Transaction that a delivery needs.
enum PreparedDelivery<Prepared: Sendable>: Sendable {
  /// A writing transaction.
  case transaction(Prepared)
  /// A read of the store after the transaction of its batch: it sees all earlier messages.
  case look(Prepared)
  /// None: the conclusion is final.
  case done(Conclusion)
}

/// Remaining work for a delivery after its transaction.
struct Conclusion: Sendable {
  /// The answer, if the sender requested one.
  var reply: OutgoingMessage?
  /// Reason to dead-letter the delivery, if any.
  var dead: DeadReason?
  /// The command whose jobs go out after its reply; see ``HeldJobs``.
  var holder: String?
  /// Label of the metrics.
  var label: CommandLabel?

  static let nothing = Conclusion()
}

/// Reason that a message could not be processed.
struct DeadReason: Sendable, Hashable {
  /// A word in capitals.
  var code: String
  /// For people; without secrets.
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

/// Store, outbox and observers that all queues share.
struct QueueContext: Sendable {
  var database: Database
  var outbox: Outbox
  var held: HeldJobs?
  var conversions: ConversionMonitor
  /// See ``CoordinatorRules/retention``.
  var retention: Duration
  var author: Author
  var clock: any WallClock
  var health: StorageHealth
  var metrics: CoordinatorMetrics
  var logger: Logger
}
