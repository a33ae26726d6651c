import CountersignAMQP
import CountersignTelemetry
import SQLite

/// Handles the deliveries of one queue.
protocol BatchWork: Sendable {
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

  /// Counts a conclusion after its commit and publication.
  func count(_ conclusion: Conclusion, took: Duration)
}

extension BatchWork {
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
