import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import FoundationEssentials
import PhoneNumbers
import SQLite
import TestSupport
import Testing

@testable import Coordination

/// A coordinator without a broker: commands and results go in as deliveries, what it publishes is looked at.
final class Bench {
  let clock = ManualClock()
  let sink = Bench.makeSink()
  let database: Database
  let rules: CoordinatorRules
  let registry = MetricsRegistry()
  let metrics: CoordinatorMetrics
  private(set) var keys: KeyRing
  private(set) var keeper: VerificationCodes
  private var pepper: Pepper
  let outbox: Outbox
  let relay: OutboxRelay
  let held: HeldJobs
  private(set) var conversions: ConversionMonitor
  /// Whether the maintenance finds the broker there.
  var isBrokerThere = true
  /// After which silence the maintenance takes itself to have been stuck. Tests let much time pass between two rounds.
  var longestSilence = Duration.seconds(1_000_000)
  private var hashes: KeyedHashes
  let operationSweeper: OperationSweeper
  let logs = MemorySink()
  let health = StorageHealth()
  /// State of the store when the commands arrive.
  var fault: OneFault?
  private let directory: URL
  private var messages = 0

  static let author = Author(appID: "coordinator", userID: "coordinator")
  static let app = "com.example.app"

  /// A publisher under the coordinator's own user.
  static func makeSink() -> MemoryMessageSink {
    MemoryMessageSink(user: author.userID, maxBodyBytes: CoordinatorServices.maxBodyBytes)
  }
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

  /// Runs a body with a bench, and takes the bench away afterwards.
  static func with(
    _ rules: CoordinatorRules = rules(), _ body: (Bench) async throws -> Void
  ) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "coordination-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let bench = try await Bench(rules, directory)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(bench))
    } catch {
      result = .failure(error)
    }
    await bench.database.close()
    try FileManager.default.removeItem(at: directory)
    try result.get()
  }

  private init(_ rules: CoordinatorRules, _ directory: URL) async throws {
    self.rules = rules
    self.directory = directory
    metrics = CoordinatorMetrics(registry)
    database = try await Database.open(
      path: directory.appending(path: "coordinator.sqlite").path(percentEncoded: false),
      options: DatabaseOptions(synchronous: .normal), migrations: CoordinatorSchema.migrations)
    keys = try KeyRing(sealing: SymmetricKey(id: "k1", bytes: SecureRandom.bytes(32)))
    let pepper = try Pepper(SecureRandom.bytes(32))
    self.pepper = pepper
    keeper = VerificationCodes(current: pepper)
    let logger = Logger(label: "test", sink: logs)
    outbox = Outbox(
      sink: sink, database: database, clock: clock, author: Bench.author, logger: logger, metrics: metrics)
    let conversions = ConversionMonitor(rules, metrics: metrics.conversion, startedAt: clock.now())
    self.conversions = conversions
    held = HeldJobs(database: database, outbox: outbox, clock: clock, metrics: metrics, logger: logger)
    hashes = KeyedHashes(current: pepper)
    let flows = Flows(rules, Flows.Secrets(codes: keeper, hashes: hashes, keys: keys), conversions: conversions)
    operationSweeper = OperationSweeper(
      database: database, rules: rules, assessments: flows.assessments, revocations: flows.revocations, clock: clock,
      metrics: metrics, logger: logger)
    relay = OutboxRelay(
      outbox: outbox, database: database, clock: clock, logger: logger, metrics: metrics,
      dropped: DroppedJobs(
        database: database, retention: rules.retention, conversions: conversions, metrics: metrics,
        messages: ResultHandler(rules), operations: flows.reports))
  }

  /// The flows under the keys of now.
  private func flows(_ codes: VerificationCodes? = nil) -> Flows {
    Flows(
      rules, Flows.Secrets(codes: codes ?? keeper, hashes: hashes, keys: keys), conversions: conversions)
  }

  var decoder: CommandDecoder { flows().decoder }

  /// The operator changes the pepper: commands find the one of before as `previousPepperFile`.
  func changePepper() throws {
    let previous = pepper
    pepper = try Pepper(SecureRandom.bytes(32))
    keeper = VerificationCodes(current: pepper, previous: previous)
    hashes = KeyedHashes(current: pepper, previous: previous)
  }

  /// The operator sets `requireSealed`.
  func requireSealed() {
    keys.requiresSealing = true
  }

  // MARK: Maintenance

  var sweeper: VerificationSweeper {
    VerificationSweeper(
      database: database, rules: rules, clock: clock, metrics: metrics, conversions: conversions,
      logger: Logger(label: "test", sink: logs))
  }

  var conversionSweeper: ConversionSweeper {
    ConversionSweeper(
      database: database, conversions: conversions, rules: rules, clock: clock, metrics: metrics,
      logger: Logger(label: "test", sink: logs), longestSilence: longestSilence
    ) { [isBrokerThere, health] in isBrokerThere && !health.keepsCommandsWaiting }
  }

  /// Loses everything in memory and restores it as at a start.
  func restart() async throws {
    conversions = ConversionMonitor(rules, metrics: metrics.conversion, startedAt: clock.now())
    try await ConversionLoader(database: database, rules: rules, clock: clock).load(conversions)
  }

  // MARK: In

  func commandMessage(
    _ command: some Command, id: String? = nil, replyTo: String? = "amq.gen-replies", user: String? = nil,
    sentAt: UnixTime? = nil
  ) throws -> Message {
    messages += 1
    let envelope = Envelope(
      type: type(of: command).type, messageID: id ?? "m\(messages)", correlationID: "c\(messages)", replyTo: replyTo,
      timestamp: sentAt, userID: user)
    return envelope.message(body: try command.json())
  }

  /// Delivers messages in one batch, and waits until all is published and settled.
  @discardableResult
  func deliver(_ messages: [Message], keeper: VerificationCodes? = nil) async -> MemoryMessageSource {
    await deliver(messages.map { Delivery(message: $0) }, keeper: keeper)
  }

  @discardableResult
  func deliver(_ deliveries: [Delivery], keeper: VerificationCodes? = nil, marks: CrashMarks? = nil) async
    -> MemoryMessageSource
  {
    let source = MemoryMessageSource([deliveries])
    let flows = flows(keeper)
    let work = CommandQueue(
      decoder: flows.decoder, handler: flows.commands, metrics: metrics, user: Bench.author.userID)
    if let fault {
      await pipeline(source, FailingQueue(inner: work, fault: fault), marks).run()
    } else {
      await pipeline(source, work, marks).run()
    }
    return source
  }

  @discardableResult
  func deliverResults(_ messages: [Message]) async -> MemoryMessageSource {
    await deliverResults(messages.map { Self.reported($0) })
  }

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

  @discardableResult
  func deliverResults(_ deliveries: [Delivery]) async -> MemoryMessageSource {
    let source = MemoryMessageSource([deliveries])
    await pipeline(
      source,
      ResultQueue(
        handler: ResultHandler(rules), deliveries: DeliveryReportHandler(rules), operations: flows().reports,
        origin: ResultOrigin(user: Bench.author.userID), metrics: metrics,
        logger: Logger(label: "test", sink: logs), clock: clock)
    ).run()
    return source
  }

  private func pipeline<Work: BatchQueue>(
    _ source: MemoryMessageSource, _ work: Work, _ marks: CrashMarks? = nil
  ) -> BatchPipeline<Work> {
    BatchPipeline(
      source: source, work: work, context(held: held), marks: marks)
  }

  /// - Parameter other: a database in place of its own.
  func context(database other: Database? = nil, held: HeldJobs?) -> QueueContext {
    QueueContext(
      database: other ?? database, outbox: outbox, held: held, conversions: conversions, retention: rules.retention,
      author: Bench.author, clock: clock, health: health, metrics: metrics,
      logger: Logger(label: "test", sink: logs))
  }

  func result(_ jobID: String, _ outcome: JobOutcome, reason: JobResult.Reason? = nil) throws -> Message {
    let result = JobResult(
      jobID: jobID, outcome: outcome, lane: "twilio-eu", reference: "SM1", reason: reason, attempts: 1,
      startedAt: clock.now(), finishedAt: clock.now()
    ).adding(["segments": 1])
    let envelope = Envelope(
      type: JobResult.type(ofJob: SMSDispatchJob.type), messageID: JobResult.messageID(jobID: jobID),
      correlationID: "any", appID: "sms-worker")
    return envelope.message(body: try result.json())
  }

  // MARK: Out

  /// Gives a command and returns its reply.
  func ask(
    _ command: some Command, id: String? = nil, user: String? = nil, sentAt: UnixTime? = nil,
    keeper: VerificationCodes? = nil
  ) async throws -> Message {
    let message = try commandMessage(command, id: id, user: user, sentAt: sentAt)
    _ = sink.takePublished()
    await deliver([message], keeper: keeper)
    return try #require(sink.published.first { $0.exchange.isEmpty }).message
  }

  func start(
    _ number: String = number, app: String = app, language: String? = nil, ip: String? = nil
  ) async throws -> VerificationStarted {
    let reply = try await ask(
      StartVerification(phoneNumber: number, app: app, languageCode: language, client: ip.map { .init(ip: $0) }))
    try #require(reply.type == "verification.started.v1", "\(String(decoding: reply.body, as: UTF8.self))")
    return try VerificationStarted(json: reply.body)
  }

  func error(_ command: some Command, keeper: VerificationCodes? = nil) async throws -> APIError {
    let reply = try await ask(command, keeper: keeper)
    try #require(reply.type == "error.v1", "\(reply.type ?? "")")
    return try ErrorReply(json: reply.body).error
  }

  func check(_ id: String, _ code: String) async throws -> Message {
    try await ask(CheckVerification(verificationID: id, code: SecretField(Secret(code))))
  }

  func checkError(_ id: String, _ code: String) async throws -> APIErrorCode {
    try await error(CheckVerification(verificationID: id, code: SecretField(Secret(code)))).code
  }

  func status(_ id: String) async throws -> VerificationStatus {
    try VerificationStatus(json: try await ask(GetVerificationStatus(verificationID: id)).body)
  }

  /// The jobs that were published last, with their codes.
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

  func count(_ table: String) async throws -> Int {
    try await database.read { session throws(DatabaseError) in
      try session.first("SELECT count(*) FROM \(table)") { row throws(DatabaseError) in row.int(0) } ?? 0
    }
  }

  /// Everything in a table, as text.
  func dump(_ table: String) async throws -> String {
    try await database.read { session throws(DatabaseError) in
      try session.query("SELECT * FROM \(table)") { row throws(DatabaseError) in
        (0..<row.count).map { row.text($0) }.joined(separator: "|")
      }
    }.joined(separator: "\n")
  }

  static func wrong(_ code: String) -> String {
    code == "000000" ? "000001" : "000000"
  }
}
