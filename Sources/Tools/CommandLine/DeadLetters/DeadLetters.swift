internal import CountersignAMQP
internal import CountersignMessages

/// Looks at dead letters, brings them back to life and removes them.
///
/// Nothing is taken out of a dead queue before it is surely somewhere else, or is meant to be gone: messages are taken
/// without acknowledgement, and those that nothing was done with return when the connection closes.
struct DeadLetters {
  /// Most messages that one command looks at; they are held, by number only, until it ends.
  static let maxScanned = 10_000

  let broker: any DeadQueue

  /// What a command found.
  struct Outcome: Sendable {
    /// The letters that matched, in the order of the queue; with what was done to them, if something was.
    var letters: [DeadLetter] = []
    /// How many messages were looked at.
    var scanned = 0
    /// How many messages were not looked at, because the limit was reached.
    var unseen = 0
    /// Those that matched but had been redriven too often already.
    var worn: [DeadLetter] = []
  }

  /// The letters of a work queue that match.
  /// - Parameter limit: most letters to find, at least 1.
  func list(queue: String, filter: DeadLetterFilter, limit: Int) async throws(OperationsError) -> Outcome {
    try await walk(queue: queue, filter: filter, limit: limit) { (_, _) throws(OperationsError) in true }
  }

  /// Publishes the letters that match to their work queue again, under the same message ID, and then removes them.
  ///
  /// A crash between the two leaves a message in both places; its ID lets the worker recognise it.
  ///
  /// It takes the user `operator`: nobody believes another's word for whose a message is (``Messages/SenderRule``), so a service's command
  /// would be carried out with the rights of whoever redrives it, and a result would be a forged one.
  /// - Parameters:
  ///   - limit: most letters to redrive, at least 1.
  ///   - redriveID: goes along in the header `x-redrive-id`.
  ///   - pause: waits between two messages.
  func redrive(
    queue: String, filter: DeadLetterFilter, limit: Int, redriveID: String,
    pause: () async throws(OperationsError) -> Void
  ) async throws(OperationsError) -> Outcome {
    try requireOperator()
    var worn: [DeadLetter] = []
    var isFirst = true
    var outcome = try await walk(queue: queue, filter: filter, limit: limit) {
      (letter, tag) throws(OperationsError) -> Bool in
      if letter.redrives >= DeadLetter.maxRedrives {
        worn.append(letter)
        return false
      }
      if !isFirst { try await pause() }
      isFirst = false
      try await revive(letter, redriveID: redriveID)
      try await attempt { () throws(AMQPError) in try await broker.remove(tag) }
      return true
    }
    outcome.worn = worn
    return outcome
  }

  private func requireOperator() throws(OperationsError) {
    let wanted = Topology.Users.operator
    guard broker.user != wanted else { return }
    throw OperationsError(
      .notPermitted,
      "only the broker's user '\(wanted)' redrives, and this is '\(broker.user)': the messages would lose their senders and be carried out with its rights; set the user in COUNTERSIGN_OPERATOR_AMQP_URL, or operator.amqp.url in Config/countersign.json5, to '\(wanted)'"
    )
  }

  /// Removes the letters that match, for good.
  /// - Parameter limit: most letters to remove, at least 1.
  func drop(queue: String, filter: DeadLetterFilter, limit: Int) async throws(OperationsError) -> Outcome {
    try await walk(queue: queue, filter: filter, limit: limit) { (_, tag) throws(OperationsError) in
      try await attempt { () throws(AMQPError) in try await broker.remove(tag) }
      return true
    }
  }

  /// Goes once through what the queue held at the beginning. What arrives meanwhile is left for the next time.
  private func walk(
    queue: String, filter: DeadLetterFilter, limit: Int,
    _ act: (DeadLetter, DeliveryTag) async throws(OperationsError) -> Bool
  ) async throws(OperationsError) -> Outcome {
    var outcome = Outcome()
    var left = Int.max
    while left > 0, outcome.letters.count < limit, outcome.scanned < Self.maxScanned {
      let taken = try await attempt { () throws(AMQPError) in
        try await broker.take(from: Topology.Queues.dead(queue))
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

  private func revive(_ letter: DeadLetter, redriveID: String) async throws(OperationsError) {
    let outcome = try await attempt { () throws(AMQPError) in
      try await broker.publish(
        Publication(
          message: letter.revived(redriveID: redriveID, by: broker.user), exchange: Topology.Exchanges.direct,
          routingKey: letter.queue))
    }
    switch outcome {
    case .confirmed: return
    case .returned(let code, let text):
      throw OperationsError(
        .refused, "the broker could not route to \(letter.queue) (\(code) \(text)): run countersign topology apply")
    case .nacked:
      throw OperationsError(.unavailable, "the queue \(letter.queue) takes no message now: it is full; try again later")
    }
  }

  private func attempt<Result>(
    _ body: () async throws(AMQPError) -> Result
  ) async throws(OperationsError) -> Result {
    do {
      return try await body()
    } catch {
      throw OperationsError(error)
    }
  }
}
