import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import Synchronization

/// Publishes the messages that transactions left in the outbox, and remembers the rows that can go.
///
/// A row is deleted with the next transaction after all of its messages were confirmed. A job that no queue takes is
/// kept and retried later; an event without a listener is gone.
final class Outbox: Sendable {
  private let sink: any MessageSink
  private let database: Database
  private let clock: any WallClock
  private let author: Author
  private let logger: Logger
  private let metrics: CoordinatorMetrics
  private let confirmed = Mutex<[Int]>([])
  private let lastAlarm = Mutex<UnixTime?>(nil)
  /// State for `/readyz`.
  let health: OutboxHealth

  /// Retry delay of a message that could not be delivered.
  static let retryDelay = Duration.seconds(5)

  init(
    sink: any MessageSink, database: Database, clock: any WallClock, author: Author, logger: Logger,
    metrics: CoordinatorMetrics
  ) {
    self.sink = sink
    self.database = database
    self.clock = clock
    self.author = author
    self.logger = logger
    self.metrics = metrics
    health = OutboxHealth(clock: clock)
  }

  /// Publishes a row together with messages that need no row, in one batch. Suspends until the broker has answered for
  /// all of it.
  ///
  /// An unpublishable message blocks no other: it is buried, and its row goes. One of `others` counts as refused.
  /// - Returns: the outcome of each of `others`.
  func publish(_ row: OutboxRow?, with others: [Publication]) async throws(AMQPError) -> [PublishOutcome] {
    let messages = row?.messages ?? []
    let outcomes = try await sink.publishApart(messages.map { $0.publication(by: author) } + others)
    if let row {
      await settle(row, try await unfinished(zip(row.messages, outcomes)))
    }
    return outcomes.dropFirst(messages.count).map { outcome in
      if case .answered(let outcome) = outcome { outcome } else { .nacked }
    }
  }

  /// Messages that have to stay in their row, with the reason.
  private func unfinished(
    _ outcomes: some Sequence<(OutgoingMessage, SendOutcome)>
  ) async throws(AMQPError) -> [(OutgoingMessage, PublishOutcome)] {
    var unfinished: [(OutgoingMessage, PublishOutcome)] = []
    for (message, outcome) in outcomes {
      switch outcome {
      case .answered(let outcome):
        if message.duty == .kept, outcome != .confirmed { unfinished.append((message, outcome)) }
      case .unpublishable(let error):
        if let outcome = try await bury(message, error) { unfinished.append((message, outcome)) }
      }
    }
    return unfinished
  }

  /// Makes a dead letter of an unpublishable message.
  /// - Returns: the reason to keep it, when the broker does not take the dead letter.
  private func bury(_ message: OutgoingMessage, _ error: AMQPError) async throws(AMQPError) -> PublishOutcome? {
    let burial = message.burial(error, by: author, at: clock.now())
    health.buried(error.description)
    guard case .answered(let outcome)? = try await sink.publishApart([burial]).first else {
      // Nothing in it is ours to cut further: it must not be retried forever.
      metrics.unpublishable.increment()
      logger.error(
        "a message that cannot be published cannot be buried either and is dropped", [.error: error.description])
      return nil
    }
    guard outcome == .confirmed else { return outcome }
    metrics.unpublishable.increment()
    metrics.deadLetters.with(burial.routingKey, OutgoingMessage.unpublishable).increment()
    logger.error(
      "a message cannot be published and goes to the dead letters",
      [.queue: burial.routingKey, .messageID: burial.message.messageID, .error: error.description])
    return nil
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

  /// Throttled: under load there would be a hundred alarms a second.
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
        .hint: "run 'countersign topology apply'; if the queue is full, start more workers",
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

  /// Takes the rows whose messages are all confirmed, for deletion in the next transaction.
  func takeConfirmed() -> [Int] {
    confirmed.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
  }

  /// Puts back the rows of ``takeConfirmed()`` after a failed transaction.
  func restore(_ numbers: [Int]) {
    confirmed.withLock { $0.append(contentsOf: numbers) }
  }

  static func delete(_ numbers: [Int], in session: Session) throws(DatabaseError) {
    for number in numbers {
      try session.execute("DELETE FROM outbox WHERE number = ?", [Value(number)])
    }
  }
}

/// The messages of one transaction.
struct OutboxRow: Sendable, Hashable {
  /// Its key in the table.
  var number: Int
  var messages: [OutgoingMessage]
}

/// Outcome of a publication.
enum SendOutcome: Sendable, Hashable {
  /// The broker has answered.
  case answered(PublishOutcome)
  /// It was not sent, and never can be: AMQP has no room for it.
  case unpublishable(AMQPError)
}

extension MessageSink {
  /// Publishes like ``MessageSink/publish(_:)``, except that an unpublishable message fails alone, and the others go
  /// out.
  ///
  /// - Throws: errors that concern no single message, such as the end of the publisher.
  func publishApart(_ batch: [Publication]) async throws(AMQPError) -> [SendOutcome] {
    do throws(AMQPError) {
      return try await publish(batch).map { .answered($0) }
    } catch {
      guard error.isOfMessage else { throw error }
      guard batch.count > 1 else { return batch.map { _ in .unpublishable(error) } }
    }
    // Halves, in order: of many good messages none waits for more than a few others.
    let middle = batch.count / 2
    let first = try await publishApart(Array(batch[..<middle]))
    return first + (try await publishApart(Array(batch[middle...])))
  }
}

extension AMQPError {
  /// Whether the same message fails in the same way at every attempt.
  var isOfMessage: Bool { code == .tooLarge }
}
