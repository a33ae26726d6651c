import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum EnqueueCommand {
  struct Options: CommandOptions {
    let file: String?
    let deadline: Duration?
    let id: String?
    let bulk: Bool
    let type: String

    init(_ reader: OptionReader) {
      file = reader.text("file", "FILE", "Body of the job, JSON; - is standard input, the default.")
      deadline = reader.duration(
        "deadline", "TIME", "Deadline, from now, for a body that has none: 5m unless given.")
      id = reader.text("id", "ID", "Message ID. The same ID twice has one effect, and the same result.")
      bulk = reader.flag("bulk", "Use the queue sms.bulk, for SMS that can wait and must not hold up a code.")
      type = reader.operand("TYPE", "Type of the job: \(KnownJob.names).")
    }
  }

  static let entry = CommandEntry(
    "enqueue", "Sends a job to its worker and waits for the result.",
    discussion: """
      Example:
        echo '{"to": "+14155550123", "text": "Hello"}' | countersign enqueue sms.dispatch --deadline 2m
      """, options: Options.self
  ) { options, context in
    let job = try prepare(options, context)
    let result = try await context.backend().enqueue(job, timeout: context.timeout)
    return JobResultText.output(result)
  }

  private static func prepare(_ options: Options, _ context: CommandContext) throws -> EnqueuedJob {
    let job = try KnownJob.find(options.type)
    let queue = try queue(of: job, isBulk: options.bulk)
    let file = options.file ?? "-"
    let given = file == "-" ? try context.input() : try InputFile.read(file)
    let body = try withDeadline(given, context.clock.now() + (options.deadline ?? defaultDeadline))
    do {
      try job.check(body)
    } catch {
      throw CommandLineError(.badInput, "\(error.code): \(error.description)")
    }
    return EnqueuedJob(type: job.type, messageID: options.id ?? MessageID.make(), body: body, queue: queue)
  }

  private static func queue(of job: KnownJob, isBulk: Bool) throws(CommandLineError) -> String? {
    guard isBulk else { return nil }
    guard job.type == SMSDispatchJob.type else {
      throw CommandLineError(
        .usage, "--bulk is for \(SMSDispatchJob.type.name): no other jobs have a queue for messages that can wait")
    }
    return Topology.Queues.smsBulk
  }

  private static let defaultDeadline = Duration.seconds(300)

  private static func withDeadline(_ body: [UInt8], _ deadline: UnixTime) throws(CommandLineError) -> [UInt8] {
    guard body.count <= MessageLimits.maxBodyBytes else {
      throw CommandLineError(
        .badInput,
        "BODY_TOO_LARGE: the body has \(body.count) bytes; at most \(MessageLimits.maxBodyBytes) are accepted")
    }
    // A body that is not JSON goes on unchanged, to be refused with its reason.
    guard case .object(var object)? = try? JSONReader.commandLine.value(of: body),
      object["deadline"] == nil
    else { return body }
    object["deadline"] = .text(deadline.rfc3339)
    return Array(JSONValue.object(object).json().utf8)
  }
}

struct KnownJob: Sendable {
  let type: MessageType
  /// Throws the first problem of a body.
  let check: @Sendable ([UInt8]) throws(ContractProblem) -> Void

  private init<Body: Job>(_ body: Body.Type) {
    type = Body.type
    check = { (json) throws(ContractProblem) in _ = try Body(json: json) }
  }

  static let all = [
    KnownJob(SMSDispatchJob.self), KnownJob(PushVerifyJob.self), KnownJob(RecaptchaAssessJob.self),
    KnownJob(MailRelayJob.self), KnownJob(AppleRevokeJob.self),
  ]

  static var names: String { all.map(\.type.name).joined(separator: ", ") }

  /// With or without its version.
  static func find(_ text: String) throws(CommandLineError) -> KnownJob {
    if let job = all.first(where: { $0.type.text == text || $0.type.name == text }) { return job }
    let nearest = NearestName.of(text, among: all.map(\.type.name))
    let suggestion = nearest.map { " (did you mean \($0)?)" } ?? ""
    throw CommandLineError(.usage, "there is no job of type \(text)\(suggestion); known are \(names)")
  }
}

struct EnqueuedJob: Sendable {
  let type: MessageType
  let messageID: String
  let body: [UInt8]
  /// If not the queue that is named after the type.
  var queue: String? = nil
}

enum JobResultText {
  /// A failure unless the job was accepted.
  static func output(_ result: JobResult) -> CommandOutput {
    CommandOutput(
      text: text(result), reply: result, exitCode: result.outcome == .accepted ? .success : .failure)
  }

  private static func text(_ result: JobResult) -> String {
    var rows = [(name: "\(result.outcome.rawValue):", value: "job \(result.jobID)")]
    if let lane = result.lane { rows.append(("lane", lane)) }
    if let reference = result.reference { rows.append(("reference", reference)) }
    if let reason = result.reason { rows.append(("reason", text(reason))) }
    rows.append(("attempts", "\(result.attempts)"))
    rows.append(("finished", result.finishedAt.rfc3339WithMilliseconds))
    rows += result.extras.sorted { $0.key < $1.key }.map { ($0.key, text($0.value)) }
    let width = rows.map(\.name.count).max() ?? 0
    return rows.map { $0.name + String(repeating: " ", count: width - $0.name.count + 2) + $0.value }
      .joined(separator: "\n")
  }

  private static func text(_ reason: JobResult.Reason) -> String {
    let provider = reason.providerCode.map { " (the provider's code: \($0))" } ?? ""
    return reason.code + provider + (reason.detail.map { ": \($0)" } ?? "")
  }

  private static func text(_ value: JobResult.Value) -> String {
    switch value {
    case .string(let text): text
    case .int(let number): "\(number)"
    case .double(let number): "\(number)"
    case .bool(let flag): "\(flag)"
    }
  }
}
