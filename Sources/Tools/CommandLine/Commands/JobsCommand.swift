import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum JobsCommand {
  static let group = CommandEntry(
    "jobs", "Shows jobs that wait for their next attempt, and why.",
    discussion: """
      Jobs are taken from one queue of delayed jobs after the other, for a moment, and given back in their order. One whose
      delay ends meanwhile goes on then. Jobs that have no more attempts are dead letters: countersign dead list.
      """,
    options: Selection.self, [list, show])

  struct Selection: CommandOptions {
    let queues: [String]

    init(_ reader: OptionReader) {
      let queue = reader.text("queue", "QUEUE", "Work queue that they return to: all unless given.")
      queues = queue.map { [$0] } ?? Topology.Queues.jobs
      if let queue, !Topology.Queues.jobs.contains(queue) {
        reader.fail("--queue must be one of \(Topology.Queues.jobs.joined(separator: ", "))")
      }
    }
  }
}

// MARK: - List

extension JobsCommand {
  struct ListOptions: CommandOptions {
    let selection: Selection
    let limit: Int

    init(_ reader: OptionReader) {
      selection = reader.inherited()
      limit =
        reader.integer(
          "limit", "NUMBER", in: 1...DelayedJobs.maxTaken, "Most jobs to show: 50 unless given. All are counted.")
        ?? 50
    }
  }

  static let list = CommandEntry(
    "list", "Lists them: how many, since when, with which error, and until when.", options: ListOptions.self
  ) { options, context in
    let found = try await context.backend().withDelayedQueues { (broker) throws(CommandLineError) in
      try await DelayedJobs(broker: broker).list(options.selection.queues, limit: options.limit)
    }
    return CommandOutput(
      text: text(found),
      json: .object([
        "count": .integer(Int64(found.count)), "queues": .array(found.queues.map(json)),
        "jobs": .array(found.jobs.map { .object(fields($0)) }),
      ]))
  }

  private static func text(_ found: DelayedJobs.Outcome) -> String {
    guard !found.queues.isEmpty else { return "no job is delayed" }
    var queues = TextTable("QUEUE", "DELAY", "JOBS", "OLDEST SINCE", "NEXT ATTEMPT")
    queues.rows = found.queues.map { queue in
      [
        queue.queue, queue.step.rawValue, "\(queue.count)", time(queue.oldest?.since),
        time(queue.oldest?.nextAttempt),
      ]
    }
    var jobs = TextTable("ID", "QUEUE", "SINCE", "ATTEMPTS", "NEXT ATTEMPT", "LAST ERROR")
    jobs.rows = found.jobs.map { job in
      [
        job.id, job.queue, time(job.since), "\(job.attempts)", time(job.nextAttempt),
        DeadLetterText.short(job.error ?? ""),
      ]
    }
    let missing = found.count - found.jobs.count
    let rest = missing > 0 ? "\nand \(missing) more; see --limit" : ""
    return "\(queues.text)\n\n\(jobs.text)\(rest)"
  }

  private static func time(_ time: UnixTime?) -> String { time?.rfc3339 ?? "-" }

  private static func json(_ queue: DelayedJobs.Queue) -> JSONValue {
    [
      "queue": .text(queue.queue), "delay": .text(queue.step.rawValue), "count": .integer(Int64(queue.count)),
      "oldest": .optional(queue.oldest?.since?.rfc3339), "next": .optional(queue.oldest?.nextAttempt?.rfc3339),
    ]
  }

  private static func fields(_ job: DelayedJob) -> [String: JSONValue] {
    [
      "id": .text(job.id), "queue": .text(job.queue), "type": .optional(job.message.type),
      "since": .optional(job.since?.rfc3339), "attempts": .integer(Int64(job.attempts)),
      "nextAttemptAt": .optional(job.nextAttempt?.rfc3339), "error": .optional(job.error),
    ]
  }
}

// MARK: - Show

extension JobsCommand {
  struct ShowOptions: CommandOptions {
    let selection: Selection
    let reveal: Bool
    let id: String

    init(_ reader: OptionReader) {
      selection = reader.inherited()
      reveal = reader.flag("reveal", "Cover nothing.")
      id = reader.operand("MESSAGE_ID", "ID of the job, as the list shows it.")
    }
  }

  static let show = CommandEntry(
    "show", "Shows one completely, with possible secrets and personal data covered.", options: ShowOptions.self
  ) { options, context in
    let found = try await context.backend().withDelayedQueues { (broker) throws(CommandLineError) in
      try await DelayedJobs(broker: broker).find(options.id, in: options.selection.queues)
    }
    guard let found else {
      throw CommandLineError(
        .refused,
        "job \(options.id) is not delayed: it waits in its work queue, has ended, or is a dead letter (countersign dead show); delay queues with more than \(DelayedJobs.maxTaken) jobs are not searched"
      )
    }
    return DeadLetterText.output(
      fields(found).merging(DeadLetterText.parts(of: found.message, reveal: options.reveal)) { $1 })
  }
}
