import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum DeadCommand {
  static let group = CommandEntry(
    "dead", "Manages messages that could not be processed.", options: Selection.self,
    [list, show, redrive, drop])

  struct Selection: CommandOptions {
    private let queue: String?
    private let ids: [String]
    private let reason, type: String?
    private let olderThan: Duration?

    init(_ reader: OptionReader) {
      queue = reader.text(
        "queue", "QUEUE",
        "Work queue they failed on; unless given, list and show search all, redrive and drop \(SMSDispatchJob.routingKey)."
      )
      ids = reader.texts("id", "ID", "Only the letter with this ID, as the list shows it; may be repeated.")
      reason = reader.text("reason", "REASON", "Only those with this reason.")
      type = reader.text("type", "TYPE", "Only those of this message type.")
      olderThan = reader.duration("older-than", "TIME", "Only those that died longer ago than this: 30m, 2h, 7d.")
      if let queue, !TopologyDeclaration.workQueues.contains(queue) {
        let names = TopologyDeclaration.workQueues.joined(separator: ", ")
        reader.fail("--queue must be one of \(names): name the work queue, not its dead queue")
      }
    }

    var searched: [String] { queue.map { [$0] } ?? TopologyDeclaration.workQueues }

    var changed: String { queue ?? Topology.Queues.smsDispatch }

    func filter(_ now: UnixTime) -> DeadLetterFilter {
      DeadLetterFilter(ids: ids, reason: reason, type: type, diedBefore: olderThan.map { now - $0 })
    }
  }

  private static func find(
    _ queues: [String], _ filter: DeadLetterFilter, _ limit: Int, _ context: CommandContext
  ) async throws(CommandLineError) -> DeadLetters.Outcome {
    try await context.backend().withDeadQueue { (broker) throws(CommandLineError) in
      var all = DeadLetters.Outcome()
      let letters = DeadLetters(broker: broker)
      for queue in queues {
        guard all.letters.count < limit else {
          all.unseen += try await letters.count(queue: queue)
          continue
        }
        let one = try await letters.list(queue: queue, filter: filter, limit: limit - all.letters.count)
        all.letters += one.letters
        all.scanned += one.scanned
        all.unseen += one.unseen
      }
      return all
    }
  }
}

// MARK: - Looking

extension DeadCommand {
  struct ListOptions: CommandOptions {
    let selection: Selection
    let limit: Int?

    init(_ reader: OptionReader) {
      selection = reader.inherited()
      limit = reader.integer(
        "limit", "NUMBER", in: 1...DeadLetters.maxScanned, "Most letters to show: 50 unless given.")
    }
  }

  static let list = CommandEntry("list", "Lists them.", options: ListOptions.self) { options, context in
    let filter = options.selection.filter(context.clock.now())
    return DeadLetterText.list(try await find(options.selection.searched, filter, options.limit ?? 50, context))
  }

  struct ShowOptions: CommandOptions {
    let selection: Selection
    let reveal: Bool
    let id: String

    init(_ reader: OptionReader) {
      selection = reader.inherited()
      reveal = reader.flag("reveal", "Cover nothing.")
      id = reader.operand("ID", "ID, as the list shows it.")
    }
  }

  static let show = CommandEntry(
    "show", "Shows one completely, with possible secrets and personal data covered.", options: ShowOptions.self
  ) { options, context in
    let queues = options.selection.searched
    let found = try await find(queues, DeadLetterFilter(ids: [options.id]), 1, context)
    guard let letter = found.letters.first else {
      throw CommandLineError(
        .refused,
        "there is no dead letter \(options.id) of \(queues.joined(separator: ", ")); countersign dead list shows them"
      )
    }
    return DeadLetterText.show(letter, reveal: options.reveal)
  }
}

// MARK: - Changing

extension DeadCommand {
  struct RedriveOptions: CommandOptions {
    let selection: Selection
    let limit, rate: Int?
    let dryRun: Bool

    init(_ reader: OptionReader) {
      selection = reader.inherited()
      limit = reader.integer(
        "limit", "NUMBER", in: 1...DeadLetters.maxScanned, "Most letters to redrive: all that match, unless given.")
      rate = reader.integer("rate", "NUMBER", in: 1...10_000, "Most letters a second: 50 unless given.")
      dryRun = reader.flag("dry-run", "Only list them.")
    }
  }

  static let redrive = CommandEntry(
    "redrive",
    "Puts them back into their work queue, under the same message ID; requires the broker's user operator.",
    options: RedriveOptions.self
  ) { options, context in
    let queue = options.selection.changed
    let filter = options.selection.filter(context.clock.now())
    let limit = options.limit ?? DeadLetters.maxScanned
    let rate = options.rate ?? 50
    if options.dryRun {
      return DeadLetterText.done(
        "would be redriven", try await find([queue], filter, limit, context), redriveID: nil)
    }
    try await context.announce("dead.redrive", on: queue)
    let redriveID = MessageID.make()
    let outcome = try await context.backend().withDeadQueue { (broker) throws(CommandLineError) in
      try await DeadLetters(broker: broker).redrive(
        queue: queue, filter: filter, limit: limit, redriveID: redriveID,
        pause: { () throws(CommandLineError) in try await sleep(.seconds(1) / rate) })
    }
    return DeadLetterText.done("redriven", outcome, redriveID: redriveID)
  }

  private static func sleep(_ duration: Duration) async throws(CommandLineError) {
    do {
      try await Task.sleep(for: duration)
    } catch {
      throw CommandLineError(.unavailable, "interrupted")
    }
  }

  struct DropOptions: CommandOptions {
    let selection: Selection
    let limit: Int?
    let yes: Bool

    init(_ reader: OptionReader) {
      selection = reader.inherited()
      limit = reader.integer(
        "limit", "NUMBER", in: 1...DeadLetters.maxScanned, "Most letters to remove: all that match, unless given.")
      yes = reader.flag("yes", "Do it. Without this, only list them.")
    }
  }

  static let drop = CommandEntry("drop", "Removes them for good.", options: DropOptions.self) { options, context in
    let queue = options.selection.changed
    let filter = options.selection.filter(context.clock.now())
    let limit = options.limit ?? DeadLetters.maxScanned
    guard options.yes else {
      var output = DeadLetterText.done(
        "would be removed for good; add --yes to do it", try await find([queue], filter, limit, context),
        redriveID: nil)
      output.exitCode = .failure
      return output
    }
    try await context.announce("dead.drop", on: queue)
    let outcome = try await context.backend().withDeadQueue { (broker) throws(CommandLineError) in
      try await DeadLetters(broker: broker).drop(queue: queue, filter: filter, limit: limit)
    }
    return DeadLetterText.done("removed", outcome, redriveID: nil)
  }
}
