import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import RecordStore
import Synchronization

/// Publishes the messages that transactions left in the store, and remembers the fates of their rows.
///
/// A row goes with the next transaction after its message was confirmed. A job that no queue takes is kept and retried
/// later; an event without a listener is gone.
public final class Outbox: Sendable {
  private let sink: any MessageSink
  private let store: any Store
  private let clock: any WallClock
  private let author: Author
  private let logger: Logger
  private let metrics: EngineMetrics
  private let unsettled = Mutex(OutboxSettlement())
  private let lastAlarm = Mutex<UnixTime?>(nil)
  /// State for `/readyz`.
  public let health: OutboxHealth

  static let retryDelay = Duration.seconds(5)

  init(
    sink: any MessageSink, store: any Store, clock: any WallClock, author: Author, logger: Logger,
    metrics: EngineMetrics
  ) {
    self.sink = sink
    self.store = store
    self.clock = clock
    self.author = author
    self.logger = logger
    self.metrics = metrics
    health = OutboxHealth(clock: clock)
  }

  /// Suspends until the broker has answered for all of it. An unpublishable message blocks no other: it is buried, and
  /// its row goes. One of `others` counts as refused. Stored messages that are no longer ours are left to their new
  /// owner; see ``Store/owned(_:)``.
  func publish(
    _ stored: [StoredMessage], with others: [Publication] = []
  ) async throws(AMQPError) -> [PublishOutcome] {
    let messages = readable(await owned(stored))
    var publications: [Publication] = []
    publications.reserveCapacity(messages.count + others.count)
    for row in messages { publications.append(row.shared.message.publication(by: author)) }
    publications += others
    let outcomes = try await sink.publishApart(publications)
    var unfinished: [(OutgoingMessage, PublishOutcome)] = []
    var settlement = OutboxSettlement()
    settlement.finished.reserveCapacity(messages.count)
    for (row, outcome) in zip(messages, outcomes) {
      if case .answered(.confirmed) = outcome {
        settlement.finished.append(row.number)
      } else if let reason = try await reasonToKeep(row.shared.message, outcome) {
        unfinished.append((row.shared.message, reason))
        settlement.postponed[row.number] = clock.now() + Self.retryDelay
      } else {
        settlement.finished.append(row.number)
      }
    }
    metrics.outboxMessages.add(-Double(settlement.finished.count))
    note(settlement)
    if let first = unfinished.first {
      metrics.undelivered.increment(by: UInt64(unfinished.count))
      alarm(first.0, first.1, count: unfinished.count)
      await settleNow()
    }
    return outcomes.dropFirst(messages.count).map { outcome in
      if case .answered(let outcome) = outcome { outcome } else { .nacked }
    }
  }

  /// Without those whose ownership cannot be determined: if they are ours after all, they are claimed again.
  private func owned(_ stored: [StoredMessage]) async -> [StoredMessage] {
    let owned = await store.owned(stored)
    guard owned.count < stored.count else { return owned }
    let left = Set(stored.map(\.number)).subtracting(owned.map(\.number))
    logger.warning("messages are left to their new owner: the session of the store was lost", [.count: left.count])
    var settlement = OutboxSettlement()
    for number in left { settlement.postponed[number] = clock.now() }
    note(settlement)
    return owned
  }

  private struct Numbered {
    var number: Int64
    var shared: SharedMessage
  }

  /// Sets aside what cannot be read: a revocation's token may exist nowhere else. The next process tries it again.
  private func readable(_ stored: [StoredMessage]) -> [Numbered] {
    var readable: [Numbered] = []
    var unreadable: [Int64] = []
    readable.reserveCapacity(stored.count)
    for row in stored {
      do throws(StoreError) {
        readable.append(Numbered(number: row.number, shared: try row.message.outgoing()))
      } catch {
        unreadable.append(row.number)
      }
    }
    guard !unreadable.isEmpty else { return readable }
    logger.error(
      "messages of the outbox cannot be read and are set aside",
      [
        .count: unreadable.count,
        .hint: "another version of the program wrote them: run that version until they are published",
      ])
    metrics.skippedRows.with("outbox").increment(by: UInt64(unreadable.count))
    health.setAside(more: unreadable.count)
    unsettled.withLock { $0.setAside += unreadable }
    return readable
  }

  private func reasonToKeep(
    _ message: OutgoingMessage, _ outcome: SendOutcome
  ) async throws(AMQPError) -> PublishOutcome? {
    switch outcome {
    case .answered(let outcome): message.duty == .kept && outcome != .confirmed ? outcome : nil
    case .unpublishable(let error): try await bury(message, error)
    }
  }

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

  // MARK: Settling

  func takeSettlement() -> OutboxSettlement {
    unsettled.withLock { settlement in
      defer { settlement = OutboxSettlement() }
      return settlement
    }
  }

  /// Puts back the fates of ``takeSettlement()`` after a failed transaction.
  func note(_ settlement: OutboxSettlement) {
    unsettled.withLock { unsettled in
      unsettled.finished += settlement.finished
      unsettled.postponed.merge(settlement.postponed) { _, new in new }
      unsettled.setAside += settlement.setAside
    }
  }

  /// Settles published messages when no transaction has come along to do it.
  func settle() async throws(StoreError) {
    let settlement = takeSettlement()
    guard !settlement.isEmpty else { return }
    do throws(StoreError) {
      try await store.settle(settlement)
    } catch {
      note(settlement)
      throw error
    }
  }

  /// Rows that are not settled stay in hand, and are published again by the next process: twice is harmless.
  private func settleNow() async {
    do {
      try await settle()
    } catch {
      logger.error("what was not delivered cannot be put off", [.error: error.description])
    }
  }
}

enum SendOutcome: Sendable, Hashable {
  case answered(PublishOutcome)
  /// It was not sent, and never can be: AMQP has no room for it.
  case unpublishable(AMQPError)
}

extension MessageSink {
  /// An unpublishable message fails alone, and the others go out.
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
