import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPServer
import JobEngine
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import SMS

@Suite("A provider that the worker does not ship", .timeLimit(.minutes(10)))
struct ExampleProviderTests {
  private static let now = UnixTime(seconds: 1_782_907_200)
  private static let registry = SMSProviders.all + [ExampleProvider.self]

  private let message = JobMessage(
    messageID: "v.sms.1", messageType: SMSDispatchJob.type, receivedAt: now)
  private let attempt = JobAttempt(
    job: MessageIdentity(sender: "coordinator", messageID: "v.sms.1"), correlationID: "v",
    deadline: now + .seconds(300), timeout: .seconds(240),
    startedAt: now)

  @Test func `It is used through configuration, sends over HTTP, and its delivery report is published`() async throws {
    let received = Mutex<[HTTPServerRequest]>([])
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 65_536) { request in
      received.withLock { $0.append(request) }
      return .respond(HTTPServerResponse(status: 201, body: Array(#"{"id": "E1"}"#.utf8)))
    }
    let configuration = try Directory().load(port: server.port).content
    let dispatcher = try SMSDispatcher(configuration, keys: nil, clock: ManualClock(Self.now))
    let outcome = try await send(by: dispatcher)
    #expect(outcome == .accepted(reference: "E1"))
    let request = try #require(received.withLock { $0 }.first)
    #expect(request.method == "POST" && request.path == "/messages")
    #expect(request.headers["Authorization"] == "Bearer sesame")
    let body = try JSONDecoder().decode([String: JSONScalar].self, from: Data(request.body))
    #expect(body["from"]?.text == "Example" && body["to"]?.text == "+14155550123" && body["text"]?.text == "Hello")
    #expect(body["validity"]?.text == "300")

    let address = try #require(body["reportTo"]?.text)
    let sink = MemoryMessageSink(user: "sms-worker")
    let endpoint = try endpoint(dispatcher, configuration, sink)
    #expect(await endpoint.answer(report("id=E1&status=sent", to: address)).status == 204)
    #expect(sink.published.isEmpty)
    #expect(await endpoint.answer(report("id=E1&status=delivered", to: address)).status == 204)
    #expect(await endpoint.answer(report("id=E1&status=delivered", to: address, key: "guessed")).status == 403)
    let publication = try #require(sink.published.first)
    #expect(sink.published.count == 1 && publication.routingKey == "sms.delivery.delivered")
    #expect(publication.message.correlationID == "v" && publication.message.messageID == "v.sms.1.delivered")
    let failed = report("id=E1&status=failed&error=SWITCHED_OFF", to: address)
    #expect(await endpoint.answer(failed).status == 204)
    let text = String(decoding: try #require(sink.published.last).message.body, as: UTF8.self)
    #expect(text.contains(#""code":"UNREACHABLE""#) && text.contains(#""providerCode":"SWITCHED_OFF""#), "\(text)")
    await dispatcher.shutdown()
    await server.stop(grace: .zero)
  }

  @Test(
    arguments: [
      (422, "UNKNOWN_NUMBER", "refused UNKNOWN_NUMBER"), (402, "NO_CREDIT", "laneDown PROVIDER_ACCOUNT"),
      (302, "OTHER", "laneDown PROVIDER_CONFIGURATION"), (404, "OTHER", "laneDown PROVIDER_CONFIGURATION"),
      (401, "OTHER", "laneDown PROVIDER_CREDENTIALS"),
    ])
  func `Its table classifies its answers, and rows that providers share those without a code that it lists`(
    status: Int, code: String, expected: String
  ) async throws {
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 65_536) { _ in
      .respond(HTTPServerResponse(status: status, body: Array(#"{"error": "\#(code)"}"#.utf8)))
    }
    let dispatcher = try SMSDispatcher(try Directory().load(port: server.port).content, keys: nil)
    switch try await send(by: dispatcher) {
    case .refused(let reason, _): #expect("refused \(reason.code)" == expected)
    case .laneDown(let reason): #expect("laneDown \(reason.code)" == expected)
    case let other: Issue.record("\(other)")
    }
    await dispatcher.shutdown()
    await server.stop(grace: .zero)
  }

  @Test
  func `Without the registry its type is unknown; with it, its keys are checked and listed like those of the others`()
    throws
  {
    let directory = try Directory()
    let unknown = #expect(throws: ConfigurationError.self) { try directory.load(port: 1, providers: SMSProviders.all) }
    let shipped = SMSProviders.all.map { $0.typeName }.joined(separator: ", ")
    #expect(unknown?.description.contains("lanes.0.type: must be one of \(shipped)") == true)
    let incomplete = #expect(throws: ConfigurationError.self) {
      try directory.load(port: 1, environment: ["COUNTERSIGN_LANES_0_FROM": "much too long for a sender"])
    }
    #expect(incomplete?.description.contains("LANES_0_FROM (overrides lanes.0.from): must be a number") == true)
    let keys = try SMSWorkerConfiguration.keys(file: directory.file) {
      SMSWorkerConfiguration($0, providers: Self.registry)
    }
    #expect(keys.contains { $0.path == "lanes.0.apiKeyFile" })
    #expect(keys.first { $0.path == "lanes.0.type" }?.help.hasSuffix("\(shipped), example.") == true)
  }

  private func send(by dispatcher: SMSDispatcher) async throws -> Classification {
    let job = SMSDispatchJob(to: "+14155550123", content: .text("Hello"), deadline: attempt.deadline)
    guard case .ready(let prepared, let facts) = dispatcher.handler.prepare(job, of: message) else {
      Issue.record("the job was refused")
      throw CancellationError()
    }
    #expect(facts.lanes == ["example-us"])
    return await dispatcher.handler.perform(prepared, on: "example-us", attempt)
  }

  private func endpoint(
    _ dispatcher: SMSDispatcher, _ configuration: SMSWorkerConfiguration, _ sink: MemoryMessageSink
  ) throws -> ReportEndpoint {
    ReportEndpoint(
      addresses: try #require(configuration.reports.taking).addresses, readers: dispatcher.reportReaders,
      publisher: ReportPublisher(
        sink: sink, author: Author(appID: "sms-worker", userID: "sms-worker"),
        logger: ThrottledLog(Logger(label: "test", level: .error, format: .text))),
      metrics: ReportMetrics(MetricsRegistry()), clock: ManualClock(Self.now))
  }

  /// A delivery report as the provider would send it.
  private func report(_ form: String, to address: String, key: String = "sesame") -> HTTPServerRequest {
    let code = HMACSHA256.authenticate(Array(address.utf8) + Array(form.utf8), key: Array(key.utf8))
    return HTTPServerRequest(
      method: "POST", target: String(address.dropFirst("https://sms.example.com".count)),
      headers: ["Example-Signature": Base64.encode(code)], body: Array(form.utf8))
  }
}

/// A configuration directory with the fixtures of the example, the shipped tables, and secrets.
private final class Directory {
  let path = FileManager.default.temporaryDirectory.path + "/example-provider-\(UInt64.random(in: 0 ... .max))"
  var file: String { path + "/sms-worker.json5" }

  init() throws {
    let files = FileManager.default
    try files.createDirectory(atPath: path + "/providers", withIntermediateDirectories: true)
    for name in try files.contentsOfDirectory(atPath: Repository.config + "/providers") {
      try link("providers/" + name, to: Repository.config)
    }
    try link("providers/example.json5", to: Repository.fixtures + "/example-provider")
    try link("sms-worker.json5", to: Repository.fixtures + "/example-provider")
    try link("templates", to: Repository.config)
    for (name, secret) in [("example.key", "sesame"), ("receipts.secret", "a secret of sixteen")] {
      try Data(secret.utf8).write(to: URL(filePath: path + "/" + name))
      try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path + "/" + name)
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private func link(_ name: String, to directory: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: path + "/" + name, withDestinationPath: directory + "/" + name)
  }

  func load(
    port: UInt16, providers: [any SMSProvider.Type] = SMSProviders.all + [ExampleProvider.self],
    environment: [String: String] = [:]
  ) throws -> LoadedConfiguration<SMSWorkerConfiguration> {
    try SMSWorkerConfiguration.load(
      file: file,
      environment: environment.merging(["COUNTERSIGN_LANES_0_BASE_URL": "http://127.0.0.1:\(port)"]) { $1 }
    ) { SMSWorkerConfiguration($0, providers: providers) }
  }
}

/// A text or a whole number of a request's JSON.
private struct JSONScalar: Decodable {
  let text: String

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    text = try (try? container.decode(String.self)) ?? String(container.decode(Int.self))
  }
}
