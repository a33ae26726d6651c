import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import RecordStore

protocol BatchQueue: Sendable {
  associatedtype Prepared: Sendable

  /// The queue, for dead letters and metrics.
  var queue: String { get }

  /// The user that sent a message, which may break the contract.
  func sender(of message: Message) -> String

  /// Parses a delivery and does all work that needs no transaction.
  func prepare(_ delivery: Delivery, at now: UnixTime, isNew: Bool) -> BatchStep<Prepared>

  func addFirstKeys(of prepared: Prepared, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError)

  func addMoreKeys(of prepared: Prepared, to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError)

  func process(_ prepared: Prepared, in set: inout WorkingSet) throws(StoreError) -> Conclusion

  func staged(_ prepared: Prepared, _ order: any CommandOrder) -> Prepared

  /// Whether the transaction answers it without carrying it out.
  func isAnswered(_ prepared: Prepared, in set: WorkingSet) throws(StoreError) -> Bool

  /// Answers a delivery whose transaction fails for a reason of its own.
  func giveUp(_ prepared: Prepared, at now: UnixTime) -> Conclusion

  func refuseBusy(_ prepared: Prepared, at now: UnixTime) -> Conclusion

  /// Answers a message that is given up unread, because it ends the process.
  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion
}

extension BatchQueue {
  func addMoreKeys(of prepared: Prepared, to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {}
  func refuseBusy(_ prepared: Prepared, at now: UnixTime) -> Conclusion { giveUp(prepared, at: now) }
  func staged(_ prepared: Prepared, _ order: any CommandOrder) -> Prepared { prepared }
  func isAnswered(_ prepared: Prepared, in set: WorkingSet) throws(StoreError) -> Bool { false }
}

enum BatchStep<Prepared: Sendable>: Sendable {
  /// Asynchronous work, and then a transaction of its own.
  case stage(CommandStage, Prepared)
  /// The transaction of its batch.
  case transaction(Prepared)
  /// A look after that transaction: it sees all earlier messages.
  case look(Prepared)
  /// The answer and the acknowledgement.
  case end(Conclusion)
}

struct Batch<Prepared: Sendable>: Sendable {
  let deliveries: [Delivery]
  /// One for each delivery.
  var steps: [BatchStep<Prepared>]
  /// Its transactions take place at that time.
  var now: UnixTime
  let startedAt: ContinuousClock.Instant
  /// Whether it is one delivery after its stage, which is not repeated.
  var isStaged = false
  var messages: [StoredMessage] = []

  init(
    _ deliveries: [Delivery], _ steps: [BatchStep<Prepared>], at now: UnixTime,
    startedAt: ContinuousClock.Instant = .now
  ) {
    self.deliveries = deliveries
    self.steps = steps
    self.now = now
    self.startedAt = startedAt
  }

  var left: [Int] { steps.indices.filter { if case .transaction = steps[$0] { true } else { false } } }

  /// Places of deliveries that have ended, which are not copied.
  var ended: [(place: Int, conclusion: Conclusion)] {
    var ended: [(place: Int, conclusion: Conclusion)] = []
    ended.reserveCapacity(steps.count)
    for index in steps.indices {
      if case .end(let conclusion) = steps[index] { ended.append((index, conclusion)) }
    }
    return ended
  }

  var staged: [(delivery: Delivery, stage: CommandStage, prepared: Prepared)] {
    steps.indices.compactMap { index in
      guard case .stage(let stage, let prepared) = steps[index] else { return nil }
      return (deliveries[index], stage, prepared)
    }
  }
}

struct Conclusion: Sendable {
  var reply: SharedMessage?
  var dead: DeadReason?
  /// The command whose messages go out after its reply. An app drops a push whose receipt it does not know yet, and it
  /// learns of the receipt from the reply. When the command is not redelivered after a crash, its messages go out after
  /// ``WorkingSet/longestHold``.
  var holder: InboxKey?
  var label: CommandLabel?

  static let nothing = Conclusion()
}

struct DeadReason: Sendable, Hashable {
  var code: String
  /// For people. Without secrets.
  var text: String

  /// The process died each time it worked on the message alone.
  static let crashed = DeadReason(
    code: CrashMarks.reason,
    text: "the process ended \(MarkPlan.maxDeaths) times while it worked on nothing but this message")
}

struct CommandLabel: Sendable, Hashable {
  static let unknown = "unknown"

  /// `verification.start`, or ``unknown``.
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
