import AMQP
import Database
import Synchronization
import Telemetry

/// Publishes what transactions have left in the outbox, and remembers what need not be kept any longer.
///
/// A row is deleted with the next transaction after all of its messages were confirmed. A job that no queue takes is kept, with
/// a time at which it is tried again; an event that nobody takes is gone.
final class Outbox: Sendable {
  private let sink: any MessageSink
  private let database: Database
  private let clock: any WallClock
  private let appID: String
  private let logger: Logger
  private let metrics: CoordinatorMetrics
  private let confirmed = Mutex<[Int]>([])
  private let lastAlarm = Mutex<UnixTime?>(nil)

  /// How long a message waits that could not be delivered.
  static let retryDelay = Duration.seconds(5)

  init(
    sink: any MessageSink, database: Database, clock: any WallClock, appID: String, logger: Logger,
    metrics: CoordinatorMetrics
  ) {
    self.sink = sink
    self.database = database
    self.clock = clock
    self.appID = appID
    self.logger = logger
    self.metrics = metrics
  }

  /// Publishes a row together with what needs no row, in one go. Suspends until the broker has answered for all of it.
  ///
  /// - Returns: what became of each of `others`.
  func publish(_ row: OutboxRow?, with others: [Publication]) async throws(AMQPError) -> [PublishOutcome] {
    let messages = row?.messages ?? []
    let outcomes = try await sink.publish(messages.map { $0.publication(appID: appID) } + others)
    if let row {
      await settle(row, zip(row.messages, outcomes).filter { Self.mustStay($0, $1) })
    }
    return Array(outcomes.dropFirst(messages.count))
  }

  private static func mustStay(_ message: OutgoingMessage, _ outcome: PublishOutcome) -> Bool {
    message.duty == .kept && outcome != .confirmed
  }

  private func settle(_ row: OutboxRow, _ unfinished: [(OutgoingMessage, PublishOutcome)]) async {
    metrics.outboxMessages.add(Double(unfinished.count - row.messages.count))
    guard let first = unfinished.first else {
      confirmed.withLock { $0.append(row.number) }
      return
    }
    metrics.undelivered.increment(by: UInt64(unfinished.count))
    alarm(first.0, first.1, count: unfinished.count)
    await postpone(OutboxRow(number: row.number, messages: unfinished.map(\.0)))
  }

  /// Once in a while is enough: under load there would be a hundred a second.
  private func alarm(_ message: OutgoingMessage, _ outcome: PublishOutcome, count: Int) {
    let now = clock.now()
    let isDue = lastAlarm.withLock { last in
      if let last, now < last + Self.retryDelay, last <= now { return false }
      last = now
      return true
    }
    guard isDue else { return }
    logger.error(
      "jobs are kept, because the broker does not take them",
      [
        .count: count, .exchange: message.exchange, .routingKey: message.routingKey, .reason: Self.text(outcome),
        .retryIn: Self.retryDelay,
        .mend: "run 'countersign topology apply'; if the queue is full, start more workers",
      ])
  }

  private static func text(_ outcome: PublishOutcome) -> String {
    switch outcome {
    case .confirmed: "confirmed"
    case .returned(let code, let text): "returned: \(code) \(text)"
    case .nacked: "refused by a queue, which may be full"
    }
  }

  private func postpone(_ row: OutboxRow) async {
    let retryAt = clock.now() + Self.retryDelay
    do {
      try await database.write { session throws(DatabaseError) -> Void in
        try session.execute(
          "UPDATE outbox SET retry_at = ?, count = ?, messages = ? WHERE number = ?",
          [
            .integer(retryAt.milliseconds), Value(row.messages.count), .blob(OutboxCodec.encode(row.messages)),
            Value(row.number),
          ])
      }
    } catch {
      // The row stays as it was, and is published in full after the next start: twice is harmless.
      logger.error("what was not delivered cannot be put off", [.error: error.description])
    }
  }

  // MARK: Rows

  /// Rows whose messages are all confirmed, to be deleted in the next transaction.
  func takeConfirmed() -> [Int] {
    confirmed.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
  }

  /// Takes back what ``takeConfirmed()`` gave, because the transaction failed.
  func restore(_ numbers: [Int]) {
    confirmed.withLock { $0.append(contentsOf: numbers) }
  }

  static func delete(_ numbers: [Int], in session: Session) throws(DatabaseError) {
    for number in numbers {
      try session.execute("DELETE FROM outbox WHERE number = ?", [Value(number)])
    }
  }
}
