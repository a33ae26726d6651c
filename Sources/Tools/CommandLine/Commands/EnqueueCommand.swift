internal import CountersignEncoding
internal import CountersignMessages
internal import CountersignTelemetry
internal import ServiceRuntime

/// `countersign enqueue`.
struct EnqueueCommand {
  let backend: any OperatorBackend
  let clock: any WallClock
  let input: @Sendable () throws(OperationsError) -> [UInt8]

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    let job = try prepare(arguments)
    let result = try await backend.enqueue(job, timeout: try arguments.timeout())
    return CommandOutput(
      text: JobResultText.text(result), json: JSONValue(encoding: result),
      exitCode: result.outcome == .accepted ? .success : .failure)
  }

  private func prepare(_ arguments: CommandArguments) throws -> EnqueuedJob {
    let job = try Self.job(try arguments.operand("TYPE"))
    let queue = try Self.queue(of: job, arguments)
    let file = arguments.value("file") ?? "-"
    let given = file == "-" ? try input() : try InputFile.read(file)
    let body = try withDeadline(given, try arguments.duration("deadline") ?? Self.defaultDeadline)
    do {
      try job.check(body)
    } catch {
      throw OperationsError(.badInput, "\(error.code): \(error.description)")
    }
    return EnqueuedJob(
      type: job.type, messageID: arguments.value("id") ?? MessageID.make(), body: body,
      queue: queue)
  }

  private static func queue(of job: KnownJob, _ arguments: CommandArguments) throws(OperationsError) -> String? {
    guard arguments.flag("bulk") else { return nil }
    guard job.type == SMSDispatchJob.type else {
      throw OperationsError(
        .usage, "--bulk is for \(SMSDispatchJob.type.name): no other jobs have a queue for what can wait")
    }
    return Topology.Queues.smsBulk
  }

  /// A body without a deadline gets one: somebody at a terminal means "now".
  private func withDeadline(_ body: [UInt8], _ deadline: Duration) throws(OperationsError) -> [UInt8] {
    guard body.count <= MessageLimits.maxBodyBytes else {
      throw OperationsError(
        .badInput, "BODY_TOO_LARGE: the body has \(body.count) bytes; at most \(MessageLimits.maxBodyBytes) are taken")
    }
    // What is not JSON goes on unchanged, to be refused with its reason.
    guard case .object(var object)? = try? JSONReader.operations.decode(JSONValue.self, from: body),
      object["deadline"] == nil
    else { return body }
    object["deadline"] = .text((clock.now() + deadline).rfc3339)
    return Array(JSONValue.object(object).json().utf8)
  }

  private static let defaultDeadline = Duration.seconds(300)

  /// The version may be left out.
  private static func job(_ text: String) throws(OperationsError) -> KnownJob {
    if let job = KnownJob.all.first(where: { $0.type.text == text || $0.type.name == text }) { return job }
    let nearest = NearestName.of(text, among: KnownJob.all.map(\.type.name))
    let suggestion = nearest.map { " (did you mean \($0)?)" } ?? ""
    throw OperationsError(.usage, "there is no job of type \(text)\(suggestion); known are \(KnownJob.names)")
  }
}
