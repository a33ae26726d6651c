import CountersignAMQP
import CountersignTelemetry
import SQLite

/// What is done with the deliveries of one queue.
protocol BatchWork: Sendable {
  associatedtype Prepared: Sendable

  /// The queue, for dead letters and metrics.
  var queue: String { get }

  /// The user that sent a message, which may break the contract.
  func sender(of message: Message) -> String

  /// Reads a delivery and does all that needs no transaction.
  func prepare(_ delivery: Delivery, at now: UnixTime) -> Preparation<Prepared>

  /// Prepares a delivery once more, for a later time, because it could not be stored.
  func prepareAgain(_ delivery: Delivery, at now: UnixTime) -> Preparation<Prepared>

  /// Carries out what was prepared.
  /// - Throws: what undoes the whole batch.
  func process(_ prepared: Prepared, in transaction: CoordinatorTransaction) throws(DatabaseError) -> Conclusion

  /// What is answered when the transaction of a delivery fails for a reason that lies in the delivery.
  func giveUp(_ prepared: Prepared, at now: UnixTime) -> Conclusion

  /// Answer when a message is given up unread, because it ends the process.
  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion

  /// Counts what was committed and published.
  func count(_ conclusion: Conclusion, took: Duration)
}

extension BatchWork {
  func prepareAgain(_ delivery: Delivery, at now: UnixTime) -> Preparation<Prepared> { prepare(delivery, at: now) }
}

/// What a delivery needs.
enum Preparation<Prepared: Sendable>: Sendable {
  /// A transaction.
  case transaction(Prepared)
  /// A look at what is stored, after the transaction of its batch: it sees all that came before it.
  case look(Prepared)
  /// None: this is all.
  case done(Conclusion)
}
