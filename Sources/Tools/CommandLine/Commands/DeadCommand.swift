internal import CountersignMessages
internal import CountersignTelemetry
internal import ServiceRuntime

/// `countersign dead`.
struct DeadCommand {
  let backend: any OperatorBackend
  let clock: any WallClock

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    let named = try Self.queue(arguments)
    // To look is harmless everywhere; what is done, is done to one queue.
    let queue = named ?? Topology.Queues.smsDispatch
    let all = named.map { [$0] } ?? Topology.Queues.work
    let filter = DeadLetterFilter(
      ids: arguments.values("id"), reason: arguments.value("reason"), type: arguments.value("type"),
      diedBefore: try arguments.duration("older-than").map { clock.now() - $0 })
    switch arguments.command.last {
    case "list":
      let limit = try arguments.integer("limit", in: 1...DeadLetters.maxScanned) ?? 50
      return DeadLetterText.list(try await find(all, filter, limit))
    case "show": return try await show(all, try arguments.operand("ID"), reveal: arguments.flag("reveal"))
    case "redrive": return try await redrive(queue, filter, arguments)
    default: return try await drop(queue, filter, arguments)
    }
  }

  private static func queue(_ arguments: CommandArguments) throws(OperationsError) -> String? {
    guard let queue = arguments.value("queue") else { return nil }
    if Topology.Queues.work.contains(queue) { return queue }
    let names = Topology.Queues.work.joined(separator: ", ")
    throw OperationsError(.usage, "--queue must be one of \(names); the dead queue of each is found by itself")
  }

  private func find(
    _ queues: [String], _ filter: DeadLetterFilter, _ limit: Int
  ) async throws(OperationsError) -> DeadLetters.Outcome {
    try await backend.withDeadQueue { (broker) throws(OperationsError) in
      var all = DeadLetters.Outcome()
      for queue in queues where all.letters.count < limit {
        let one = try await DeadLetters(broker: broker).list(
          queue: queue, filter: filter, limit: limit - all.letters.count)
        all.letters += one.letters
        all.scanned += one.scanned
        all.unseen += one.unseen
      }
      return all
    }
  }

  private func show(_ queues: [String], _ id: String, reveal: Bool) async throws(OperationsError) -> CommandOutput {
    let found = try await find(queues, DeadLetterFilter(ids: [id]), 1)
    guard let letter = found.letters.first else {
      throw OperationsError(
        .refused,
        "there is no dead letter \(id) of \(queues.joined(separator: ", ")); countersign dead list shows which there are"
      )
    }
    return DeadLetterText.show(letter, reveal: reveal)
  }

  private func redrive(
    _ queue: String, _ filter: DeadLetterFilter, _ arguments: CommandArguments
  ) async throws -> CommandOutput {
    let limit = try arguments.integer("limit", in: 1...DeadLetters.maxScanned) ?? DeadLetters.maxScanned
    let rate = try arguments.integer("rate", in: 1...10_000) ?? 50
    if arguments.flag("dry-run") {
      return DeadLetterText.done("would be redriven", try await find([queue], filter, limit), redriveID: nil)
    }
    let redriveID = MessageID.make()
    let outcome = try await backend.withDeadQueue { (broker) throws(OperationsError) in
      try await DeadLetters(broker: broker).redrive(
        queue: queue, filter: filter, limit: limit, redriveID: redriveID,
        pause: { () throws(OperationsError) in try await Self.sleep(.seconds(1) / rate) })
    }
    return DeadLetterText.done("redriven", outcome, redriveID: redriveID)
  }

  private func drop(
    _ queue: String, _ filter: DeadLetterFilter, _ arguments: CommandArguments
  ) async throws -> CommandOutput {
    let limit = try arguments.integer("limit", in: 1...DeadLetters.maxScanned) ?? DeadLetters.maxScanned
    guard arguments.flag("yes") else {
      var output = DeadLetterText.done(
        "would be removed for good; add --yes to do it", try await find([queue], filter, limit), redriveID: nil)
      output.exitCode = .failure
      return output
    }
    let outcome = try await backend.withDeadQueue { (broker) throws(OperationsError) in
      try await DeadLetters(broker: broker).drop(queue: queue, filter: filter, limit: limit)
    }
    return DeadLetterText.done("removed", outcome, redriveID: nil)
  }

  private static func sleep(_ duration: Duration) async throws(OperationsError) {
    do {
      try await Task.sleep(for: duration)
    } catch {
      throw OperationsError(.unavailable, "interrupted")
    }
  }
}
