import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import ServiceRuntime
import Testing

@testable import Mail

@Suite struct MailProviderTests {
  private static let table = """
    {statuses: {"429": {class: "retry", reason: "PROVIDER_THROTTLED", detail: "Too many."}}}
    """

  /// A configuration whose one lane is the example's, with no table but the example's.
  private func load(table: String = Self.table, in directory: String) throws -> MailWorkerConfiguration {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try Data(table.utf8).write(to: URL(filePath: directory + "/example.json5"))
    let text = """
      {allowNoKeys: true, broker: {url: "amqp://a:b@localhost/"}, templates: {directory: "\(Shipped.config)/templates/mail"},
       providersDirectory: ".", senders: [{from: "a@example.com"}], lanes: [{name: "e", type: "example", status: 429}]}
      """
    try Data(text.utf8).write(to: URL(filePath: directory + "/mail-worker.json5"))
    return try MailWorkerConfiguration.load(file: directory + "/mail-worker.json5", environment: [:]) {
      MailWorkerConfiguration($0, providers: MailProviders.all + [ExampleMailProvider.self])
    }.content
  }

  @Test func `Its lane is made with a table that it reads itself, sends, and closes with the worker`() async throws {
    let directory = temporaryPath("mail-provider")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let metrics = MetricsRegistry()
    let relay = try await MailRelay(
      load(in: directory), logger: Logger(label: "test", sink: MemorySink()), metrics: metrics)
    #expect(relay.lanes.map(\.name) == ["e"])
    let now = UnixTime(seconds: 1_782_907_200)
    let job = MailRelayJob(
      to: "b@example.com", content: .message(subject: "Hello", text: "Hello", html: nil), deadline: now + .seconds(300))
    let message = JobMessage(messageID: "m1", messageType: MailRelayJob.type, receivedAt: now)
    guard case .ready(let prepared) = relay.handler.prepare(job, of: message) else {
      Issue.record("the job was refused")
      return
    }
    let attempt = JobAttempt(
      job: MessageIdentity(sender: "sender", messageID: "m1"), deadline: job.deadline, timeout: .seconds(240),
      startedAt: now)
    let outcome = await relay.handler.perform(prepared.job, on: "e", attempt)
    #expect(outcome == .retry(Reason("PROVIDER_THROTTLED", "Too many.", providerCode: "HTTP 429")))
    #expect(await relay.handler.probe(lane: "e") == .up)
    await relay.shutdown()
    #expect(metrics.render().contains("example_closed 1\n"))
  }

  @Test func `A problem with its table is reported once with the configuration`() throws {
    let directory = temporaryPath("mail-provider")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let error = #expect(throws: ConfigurationError.self) { try load(table: "{}", in: directory) }
    let problems = error?.problems.map { "\($0)" }.filter { $0.contains("providersDirectory: ") } ?? []
    #expect(problems.count == 1 && problems.first?.contains("example.json5: statuses is missing") == true)
  }
}

/// A provider that speaks HTTP, as far as its settings and its table tell.
private struct ExampleMailProvider: MailProvider {
  static let typeName = "example"
  static let tableFile = "example.json5"

  let status: Int

  init(_ section: ConfigurationSection, _ lane: LaneConfiguration) {
    status = section.integer("status", default: 200, in: 100...599, "The status that it answers with.")
  }

  static func readTable(_ path: String) throws(WorkerError) -> ProviderTable {
    try ProviderTable(file: path, sections: [.statuses])
  }

  func makeLane(_ context: MailLaneContext, _ table: ProviderTable) -> any MailLane {
    ExampleMailLane(
      name: context.name, status: status, table: table,
      closed: context.metrics.counter("example_closed", "Lanes that were closed."))
  }

  func check(name: String, timeout: Duration) async -> String? { nil }
}

private struct ExampleMailLane: MailLane {
  let name: String
  let status: Int
  let table: ProviderTable
  let closed: Counter

  func send(_ mail: OutgoingMail, _ attempt: JobAttempt) async -> Classification {
    table.classification(status: status)
  }

  func probe() async -> ProbeResult { .up }

  func shutdown() async { closed.increment() }
}
