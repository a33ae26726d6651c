import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import RecordStore
import TestSupport
import Testing

@testable import Webhooks

/// A webhook-worker without a broker and without a network.
final class WebhookBench: EngineBench {
  static let author = Author(appID: "webhook-worker", userID: Topology.Users.webhookWorker)
  let parts: WebhookParts
  let keySet: String

  private init(_ store: any Store, _ clock: ManualClock, _ sink: MemoryMessageSink) async throws {
    let (metrics, logs) = (MetricsRegistry(), MemorySink())
    keySet = try KeyRing.rotate(jwkSet: nil, kid: "k")
    let logger = Logger(label: "test", sink: logs)
    let keys = try KeyRing(jwkSet: Array(keySet.utf8))
    var rules = WebhookRules()
    rules.allowed.networks = [try #require(AddressRange("127.0.0.0/8"))]
    parts = WebhookParts(
      rules: rules, secrets: WebhookSecrets(ring: keys), metrics: WebhookMetrics(metrics), clock: clock, logger: logger,
      wakes: Wakes())
    super.init(
      EngineContext(
        FlowRegistry([WebhookFlow(parts: parts)]), store: store,
        rules: EngineRules(
          commandQueue: Topology.Queues.webhookCommands, reportQueue: Topology.Queues.webhookEvents,
          operators: ["operator"]),
        sink: sink, author: Self.author, clock: clock, metrics: EngineMetrics(metrics, of: "webhooks"),
        logger: logger),
      clock: clock, sink: sink, registry: metrics, logs: logs, user: "operator", isTimed: true)
    try await maintenance.begin()
  }

  /// Runs a body that opens the service, possibly several times.
  static func several(_ body: (_ start: () async throws -> WebhookBench) async throws -> Void) async throws {
    let (clock, sink) = (ManualClock(), makeSink(author))
    try await StoreFile.with { file in try await body { try await WebhookBench(file.open(), clock, sink) } }
  }

  static func with(_ body: (WebhookBench) async throws -> Void) async throws {
    try await several { start in try await body(start()) }
  }

  // MARK: Commands

  @discardableResult
  func add(_ events: String..., url: String = "https://example.com/events") async throws -> String {
    try WebhookAdded(
      json: try await ask(AddWebhook(url: url, events: events, replyKey: Self.replyKey.publicKey.jwk)).body
    ).webhook.id
  }

  func show(_ id: String) async throws -> WebhookView? {
    try await listed(ListWebhooks()).first { $0.id == id }
  }

  func listed<C: Command>(_ command: C) async throws -> [WebhookView] where C.Reply == WebhooksListed {
    try WebhooksListed(json: try await ask(command).body).webhooks
  }

  static let replyKey: PrivateSealingKey = {
    do { return try PrivateSealingKey.generate(id: "t") } catch { fatalError("no key: \(error)") }
  }()

  // MARK: Events

  func event(
    _ type: String, _ members: String, id: String? = nil, user: String = Topology.Users.coordinator
  ) throws -> Delivery {
    let next = nextID()
    let envelope = Envelope(
      type: try #require(MessageType(parsing: type + ".v1")), messageID: id ?? next, timestamp: clock.now(),
      userID: user)
    return Delivery(
      message: envelope.message(body: Array("{\(members)}".utf8)), exchange: Topology.Exchanges.events,
      routingKey: type)
  }

  /// Events of a verification, one for each number.
  @discardableResult
  func verify(_ subject: String, _ numbers: Range<Int>) async throws -> MemoryMessageSource {
    await deliver(
      reports: try numbers.map { try event("verification.sent", #""verificationID":"\#(subject)","job":\#($0)"#) })
  }

  // MARK: Deliveries

  var deliveries: DeliveryStore {
    DeliveryStore(store: context.store) { Hexadecimal.encode(SecureRandom.bytes(8)) }
  }

  func claim(limit: Int = 100) async throws -> [Attempt] {
    var attempts: [Attempt] = []
    for webhook in try await deliveries.webhooks(at: clock.now()) where webhook.state == .enabled {
      attempts += try await deliveries.claim(webhook, limit: limit, at: clock.now()).attempts
    }
    return attempts
  }

  func settle(_ attempts: [Attempt], _ outcome: Outcome) async throws {
    #expect(try await deliveries.settle(attempts.map { Ended(attempt: $0, outcome: outcome) }, at: clock.now()) != nil)
  }

  /// Claims and delivers until nothing is due.
  /// - Returns: what was delivered, in its order.
  func drain() async throws -> [String] {
    var all: [String] = []
    while true {
      let attempts = try await claim()
      if attempts.isEmpty { return all }
      try await settle(attempts, .delivered)
      all += attempts.map(\.job)
    }
  }

  func upkeep(maxEvents: Int = Backlog.maxEvents) async throws {
    var upkeep = Upkeep(store: context.store, parts: parts)
    upkeep.maxEvents = maxEvents
    for _ in 0..<100 {
      if try await !upkeep.round(at: clock.now()) { return }
    }
  }
}

extension Attempt {
  /// Subject and number that a test has given.
  var job: String {
    let text = String(decoding: event.data, as: UTF8.self)
    return text.replacing(#"{"verificationID":""#, with: "").replacing(#"","job":"#, with: " ").replacing("}", with: "")
  }
}
