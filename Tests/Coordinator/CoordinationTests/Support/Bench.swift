import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import PhoneNumbers
import SQLite
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

/// A coordinator without a broker. Its database goes with it.
final class Bench: EngineBench {
  private let directory: TemporaryDirectory
  let database: Database
  /// The rules in force. A change is a restart with another configuration.
  var rules: CoordinatorRules
  let metrics: CoordinatorMetrics
  let engineMetrics: EngineMetrics
  private(set) var keys: KeyRing
  var keeper: VerificationCodes
  private var pepper: Pepper
  private var hashes: KeyedHashes
  /// Replaced by ``takeOver()``.
  private(set) var store: SQLiteStore
  private var conversion: ConversionFlow
  let broker = BrokerPresence()
  /// After which silence the maintenance takes itself to have been stuck. Tests let much time pass between two rounds.
  let longestSilence = Duration.seconds(1_000_000)
  /// The store of the commands, while it fails.
  var faulty: FaultyStore?

  static let author = Author(appID: "coordinator", userID: "coordinator")
  static let app = "com.example.app"
  static let number = "+14155550123"
  static let fictional = "+16505553434"

  static func rules(_ change: (inout CoordinatorRules) -> Void = { _ in }) -> CoordinatorRules {
    let app = AppProfile(
      id: app, name: "Example", domain: "example.com", verification: .trusted, fictionalNumbers: [fictional: "654321"])
    let closed = AppProfile(
      id: "closed", name: "Closed", verification: .off, fictionalNumbers: [fictional: "111111"])
    var apps = [app.id: app, closed.id: closed]
    for mode in [AppVerification.push, .recaptcha, .audit] {
      let id = "com.example.\(mode.rawValue)"
      apps[id] = AppProfile(id: id, name: "Example", verification: mode, fictionalNumbers: [fictional: "222222"])
    }
    var rules = CoordinatorRules(regions: RegionRules(allowed: ["US", "FR", "NG"]), apps: apps)
    change(&rules)
    return rules
  }

  static func rules(_ limits: [Limit: Int]) -> CoordinatorRules {
    rules { for (limit, figure) in limits { $0.limits[limit] = figure } }
  }

  static func with(_ rules: CoordinatorRules = rules(), _ body: (Bench) async throws -> Void) async throws {
    try await body(Bench(rules))
  }

  init(_ rules: CoordinatorRules = Bench.rules()) async throws {
    let (clock, sink, registry, logs) = (ManualClock(), Self.makeSink(Self.author), MetricsRegistry(), MemorySink())
    self.rules = rules
    metrics = CoordinatorMetrics(registry)
    engineMetrics = EngineMetrics(registry)
    directory = try TemporaryDirectory()
    database = try await Database.open(
      path: directory.path + "/coordinator.sqlite", options: DatabaseOptions(synchronous: .normal), kind: .coordinator,
      migrations: ServiceSchema.migrations)
    keys = try KeyRing(sealing: SymmetricKey(id: "k1", bytes: SecureRandom.bytes(32)))
    let pepper = try Pepper(SecureRandom.bytes(32))
    self.pepper = pepper
    keeper = VerificationCodes(current: pepper)
    hashes = KeyedHashes(current: pepper)
    store = try await SQLiteStore(in: database)
    conversion = Bench.conversion(rules, metrics, logs, clock, broker, longestSilence)
    super.init(
      Bench.engine(store, rules, sink, clock, engineMetrics, logs), clock: clock, sink: sink, registry: registry,
      logs: logs)
    try await maintenance.begin()
  }

  private static func engine(
    _ store: SQLiteStore, _ rules: CoordinatorRules, _ sink: MemoryMessageSink, _ clock: ManualClock,
    _ metrics: EngineMetrics, _ logs: MemorySink
  ) -> EngineContext {
    EngineContext(
      FlowRegistry([]), store: store, rules: rules.engine, sink: sink, author: author, clock: clock,
      metrics: metrics, logger: Logger(label: "test", sink: logs))
  }

  private static func conversion(
    _ rules: CoordinatorRules, _ metrics: CoordinatorMetrics, _ logs: MemorySink, _ clock: ManualClock,
    _ broker: BrokerPresence, _ longestSilence: Duration
  ) -> ConversionFlow {
    ConversionFlow(
      Conversions(rules, metrics: metrics.conversion, logger: Logger(label: "test", sink: logs)),
      startedAt: clock.now(), longestSilence: longestSilence
    ) { broker.isThere }
  }

  func flows() -> Flows {
    Flows(
      rules, Flows.Secrets(codes: keeper, hashes: hashes, keys: keys), metrics: metrics,
      logger: Logger(label: "test", sink: logs), conversion: conversion)
  }

  override var context: EngineContext {
    var context = engine
    context.registry = flows().registry
    if let faulty { context.store = faulty }
    return context
  }

  var outbox: Outbox { engine.outbox }
  var health: StorageHealth { engine.health }

  /// The operator changes the pepper: commands find the one of before as `previousPepperFile`.
  func changePepper() throws {
    let previous = pepper
    pepper = try Pepper(SecureRandom.bytes(32))
    keeper = VerificationCodes(current: pepper, previous: previous)
    hashes = KeyedHashes(current: pepper, previous: previous)
  }

  func requireSealed() {
    keys.requiresSealing = true
  }

  override var maintenance: Maintenance { Maintenance(context, interval: .seconds(1)) }

  @discardableResult
  func sweep() async throws -> Bool {
    var isMore = false
    let context = context
    for due in context.registry.dueRecords where try await Sweeper(context: context).sweep(due) { isMore = true }
    return isMore
  }

  @discardableResult
  func relay() async throws -> Bool { try await OutboxRelay(context).relay() }

  /// The tasks of the flows: whether codes can come back.
  func listen() async throws {
    for task in context.registry.tasks { _ = try await task.run(store, clock.now()) }
  }

  /// Ends the process without a word, and begins the next one on the same database.
  func takeOver() async throws {
    await store.close()
    store = try await SQLiteStore(in: database)
    try await restart()
  }

  /// Loses everything in memory and restores it as at a start.
  func restart() async throws {
    conversion = Bench.conversion(rules, metrics, logs, clock, broker, longestSilence)
    engine = Bench.engine(store, rules, sink, clock, engineMetrics, logs)
    try await maintenance.begin()
  }

  @discardableResult
  func deliverResults(_ messages: [Message]) async -> MemoryMessageSource {
    await deliver(reports: messages.map { Self.reported($0) })
  }

  @discardableResult
  func deliverResults(_ deliveries: [Delivery]) async -> MemoryMessageSource { await deliver(reports: deliveries) }

  /// As the worker of the job's type publishes it, unless the message names another user itself.
  static func reported(_ message: Message) -> Delivery {
    var message = message
    let type = message.type.flatMap(MessageType.init(parsing:))
    message.userID = message.userID ?? type.flatMap { Topology.Users.worker(ofResults: $0) }
    message.headers[MessageHeader.sender] = message.headers[MessageHeader.sender] ?? .string(author.userID)
    let name =
      type.map { $0 == SMSDeliveryReport.type ? SMSDeliveryReport.routingKeyPrefix : String($0.name.dropLast(7)) } ?? ""
    let body = String(decoding: message.body, as: UTF8.self)
    let words = ["accepted", "refused", "expired", "unknown", "undelivered", "delivered"]
    let end = words.first { body.contains(":\"\($0)\"") } ?? "accepted"
    return Delivery(message: message, exchange: Topology.Exchanges.results, routingKey: "\(name).\(end)")
  }

  func result<J: Job>(
    of job: J.Type = SMSDispatchJob.self, _ jobID: String, _ outcome: JobOutcome, reason: JobResult.Reason? = nil,
    extras: [String: JobResult.Value] = ["segments": 1]
  ) throws -> Message {
    let result = JobResult(
      jobID: jobID, outcome: outcome, lane: "twilio-eu", reference: "SM1", reason: reason, attempts: 1,
      startedAt: clock.now(), finishedAt: clock.now()
    ).adding(extras)
    let envelope = Envelope(
      type: JobResult.type(ofJob: J.type), messageID: JobResult.messageID(jobID: jobID), correlationID: "any",
      appID: "worker")
    return envelope.message(body: try result.json())
  }

  func start(
    _ number: String = number, app: String = app, requester: String? = nil, language: String? = nil,
    ip: String? = nil, instance: String? = nil, purpose: VerificationPurpose? = nil, subject: String? = nil
  ) async throws -> VerificationStarted {
    let client = ip ?? instance == nil ? nil : StartVerification.Client(ip: ip, instance: instance)
    return try await reply(
      to: StartVerification(
        phoneNumber: number, app: app, languageCode: language, client: client, purpose: purpose, subject: subject,
        requester: requester))
  }

  func begin(_ number: String = number) async throws -> (id: String, code: String) {
    let id = try await start(number).verificationID
    return (id, try #require(try jobs().first).code)
  }

  func check(_ id: String, _ code: String) async throws -> Message {
    try await ask(CheckVerification(id, code))
  }

  func checkError(_ id: String, _ code: String) async throws -> APIErrorCode {
    try await error(CheckVerification(id, code)).code
  }

  func status(_ id: String) async throws -> VerificationStatus {
    try await reply(to: GetVerificationStatus(verificationID: id))
  }

  func jobs() throws -> [(id: String, job: SMSDispatchJob, code: String)] {
    try sink.published.filter { $0.exchange == Topology.Exchanges.jobs }.map { publication in
      let job = try SMSDispatchJob(json: publication.message.body)
      let id = try #require(publication.message.messageID)
      guard case .template(_, _, let variables) = job.content, let sealed = variables.code else {
        throw ContractProblem(.missingField, field: "variables.code", "is missing")
      }
      let context = job.sealContext(messageID: id)
      return (id, job, try sealed.open(with: keys, for: context).reveal())
    }
  }

  func events() -> [String] {
    sink.published.filter { $0.exchange == Topology.Exchanges.events }.map(\.routingKey)
  }

  func eventIDs() -> [String] {
    sink.published.filter { $0.exchange == Topology.Exchanges.events }.compactMap(\.message.messageID)
  }

  /// Number of the records of a kind, or of what else the store has: `inbox`, `outbox`, `held` messages, `counter`
  /// cells.
  func count(_ what: String) async throws -> Int {
    let sql =
      switch what {
      case "inbox": "SELECT count(*) FROM store_inbox"
      case "outbox": "SELECT count(*) FROM store_outbox"
      case "held": "SELECT count(*) FROM store_outbox WHERE hold IS NOT NULL"
      case "counter": "SELECT count(*) FROM store_counter"
      default: "SELECT count(*) FROM store_record WHERE kind = '\(what)'"
      }
    return try await database.read { session throws(StoreError) in
      try session.first(sql) { row throws(StoreError) in row.int(0) } ?? 0
    }
  }

  func dump(_ what: String) async throws -> String {
    let sql =
      switch what {
      case "inbox", "outbox", "counter": "SELECT * FROM store_\(what)"
      default: "SELECT * FROM store_record WHERE kind = '\(what)'"
      }
    return try await database.read { session throws(StoreError) in
      try session.query(sql) { row throws(StoreError) in
        (0..<row.count).map { String(decoding: row.blob($0), as: UTF8.self) }.joined(separator: "|")
      }
    }.joined(separator: "\n")
  }

  /// Makes the bodies of records unreadable, as those of another version are.
  func damage(_ kind: String, _ id: String? = nil) async throws {
    try await run(
      "UPDATE store_record SET body = x'63' WHERE kind = '\(kind)'" + (id.map { " AND id = '\($0)'" } ?? ""))
  }

  func run(_ sql: String) async throws {
    try await database.write { session throws(StoreError) -> Void in try session.execute(sql) }
  }

  static func wrong(_ code: String) -> String {
    code == "000000" ? "000001" : "000000"
  }
}

final class BrokerPresence: Sendable {
  private let state = Mutex(true)

  var isThere: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
