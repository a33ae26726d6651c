import CountersignAMQP
import CountersignMessages

/// A message leaves its dead queue only after its redrive is confirmed, or to be removed: messages are taken without
/// acknowledgment, and the untouched ones return when the connection closes.
struct DeadLetters {
  /// They stay unacknowledged until it ends.
  static let maxScanned = 10_000

  let broker: any DeadQueue

  struct Outcome: Sendable {
    var letters: [DeadLetter] = []
    var scanned = 0
    /// Number of messages not looked at, because the limit was reached.
    var unseen = 0
    /// Matching letters that had been redriven too often already.
    var worn: [DeadLetter] = []
  }

  func list(queue: String, filter: DeadLetterFilter, limit: Int) async throws(CommandLineError) -> Outcome {
    try await walk(queue: queue, filter: filter, limit: limit) { (_, _) throws(CommandLineError) in true }
  }

  /// Takes one letter, with which the broker tells the number of the others.
  func count(queue: String) async throws(CommandLineError) -> Int {
    let taken = try await attempt { () throws(AMQPError) in
      try await broker.get(Topology.Queues.dead(queue))
    }
    return taken.map { $0.remaining + 1 } ?? 0
  }

  /// Publishes the matching letters to their work queue again under the same message ID, then removes them. After a
  /// crash between the two, the worker recognizes the copy by its ID.
  ///
  /// Requires the user `operator`: another user's statement about the sender is not trusted (`SenderRule`), so a result
  /// would count as forged.
  func redrive(
    queue: String, filter: DeadLetterFilter, limit: Int, redriveID: String,
    pause: () async throws(CommandLineError) -> Void
  ) async throws(CommandLineError) -> Outcome {
    try requireOperator()
    var worn: [DeadLetter] = []
    var isFirst = true
    var outcome = try await walk(queue: queue, filter: filter, limit: limit) {
      (letter, tag) throws(CommandLineError) -> Bool in
      if letter.redrives >= DeadLetter.maxRedrives {
        worn.append(letter)
        return false
      }
      if !isFirst { try await pause() }
      isFirst = false
      try await revive(letter, redriveID: redriveID)
      try await attempt { () throws(AMQPError) in try await broker.ack(tag) }
      return true
    }
    outcome.worn = worn
    return outcome
  }

  private func requireOperator() throws(CommandLineError) {
    let wanted = Topology.Users.operator
    guard broker.user != wanted else { return }
    throw CommandLineError(
      .notPermitted,
      "only the broker's user '\(wanted)' may redrive, and this is '\(broker.user)', with whose rights the messages would be carried out; set the user in COUNTERSIGN_OPERATOR_AMQP_URL, or operator.amqp.url in countersign.json5, to '\(wanted)'"
    )
  }

  func drop(queue: String, filter: DeadLetterFilter, limit: Int) async throws(CommandLineError) -> Outcome {
    try await walk(queue: queue, filter: filter, limit: limit) { (_, tag) throws(CommandLineError) in
      try await attempt { () throws(AMQPError) in try await broker.ack(tag) }
      return true
    }
  }

  /// Goes once through the messages that the queue held at the beginning, without later arrivals.
  private func walk(
    queue: String, filter: DeadLetterFilter, limit: Int,
    _ act: (DeadLetter, DeliveryTag) async throws(CommandLineError) -> Bool
  ) async throws(CommandLineError) -> Outcome {
    var outcome = Outcome()
    var left = Int.max
    while left > 0, outcome.letters.count < limit, outcome.scanned < Self.maxScanned {
      let taken = try await attempt { () throws(AMQPError) in
        try await broker.get(Topology.Queues.dead(queue))
      }
      guard let (delivery, remaining) = taken else { return outcome }
      left = min(left - 1, remaining)
      outcome.scanned += 1
      let letter = DeadLetter(message: delivery.message, queue: queue)
      if filter.matches(letter), try await act(letter, delivery.tag) { outcome.letters.append(letter) }
    }
    outcome.unseen = left
    return outcome
  }

  private func revive(_ letter: DeadLetter, redriveID: String) async throws(CommandLineError) {
    let outcome = try await attempt { () throws(AMQPError) in
      try await broker.publish(
        Publication(
          message: letter.revived(redriveID: redriveID, by: broker.user), exchange: Topology.Exchanges.direct,
          routingKey: letter.queue))
    }
    switch outcome {
    case .confirmed: return
    case .returned(let code, let text):
      throw CommandLineError(
        .refused, "the broker could not route to \(letter.queue) (\(code) \(text)): run countersign topology apply")
    case .nacked:
      throw CommandLineError(
        .unavailable, "the queue \(letter.queue) accepts no message now: it is full; try again later")
    }
  }

  private func attempt<Result>(
    _ body: () async throws(AMQPError) -> Result
  ) async throws(CommandLineError) -> Result {
    do {
      return try await body()
    } catch {
      throw CommandLineError(error)
    }
  }
}
