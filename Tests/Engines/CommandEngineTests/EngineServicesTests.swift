import CountersignTelemetry
import FoundationEssentials
import PostgreSQL
import SQLite
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

/// A process of a service other than the coordinator, without a broker.
@Suite struct EngineServicesTests {
  private struct Sample: Configuration {
    let broker: BrokerConfiguration
    let database: DatabaseSettings

    init(_ section: ConfigurationSection) {
      broker = BrokerConfiguration(section.section("broker"))
      database = DatabaseSettings(
        section.section("database"), of: "desk process", defaultPath: "/var/lib/countersign/desk.sqlite")
    }
  }

  private static func load(_ environment: [String: String]) throws -> Sample {
    let broker = ["COUNTERSIGN_BROKER_URL": "amqp://desk:x@127.0.0.1:1/"]
    return try Sample.load(file: nil, environment: broker.merging(environment) { $1 }).content
  }

  private static func open(_ path: String, _ context: ServiceContext) async throws -> EngineServices {
    let sample = try load(["COUNTERSIGN_DATABASE_PATH": path])
    let settings = ServiceSettings(
      of: "desk process", .accounts, broker: sample.broker, database: sample.database, lockQueue: "desk.commands.lock",
      reports: "replies")
    let rules = EngineRules(commandQueue: "desk.commands", reportQueue: "desk.replies")
    return try await EngineServices.open(settings, rules, context)
  }

  private static func context() -> ServiceContext {
    ServiceContext(name: "desk", instance: "desk@host/1", logger: Logger(label: "test", sink: MemorySink()))
  }

  private static func run(_ path: String, _ body: (EngineContext, ServiceContext) async throws -> Void) async throws {
    let context = context()
    let parts = try await open(path, context)
    let engine = try await parts.begin(FlowRegistry([]), EngineMetrics(context.metrics, of: "desk"))
    let services = try await parts.services(engine)
    #expect(
      services.map(\.name) == ["database", "publisher", "maintenance", "members", "attendance", "replies", "commands"])
    let running = services.map { service in Task { try await service.run() } }
    try await body(engine, context)
    for (service, task) in zip(services, running).reversed() {
      await service.stop()
      try await task.value
    }
  }

  private static func isWaiting(_ context: ServiceContext) -> Bool {
    context.health.report().checks.contains {
      $0.name == "turn" && $0.problem?.contains("another desk process") == true
    }
  }

  @Test func `It keeps what it stores in a file, which the next process gets when it has ended`() async throws {
    try await StoreUnderTest.withFile { path in
      let kept = try #require(RecordID(RecordKind("ticket"), "kept"))
      let next = Self.context()
      var waiting: Task<EngineServices, any Error>?
      try await Self.run(path) { engine, context in
        try await engine.store.put(Record(kept, body: [7]))
        waiting = Task { try await Self.open(path, next) }
        while !Self.isWaiting(next) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(!Self.isWaiting(context))
        let metrics = context.metrics.render()
        for role in ["publisher", "commands", "replies"] { #expect(metrics.contains(#"connection="\#(role)""#)) }
      }
      let parts = try await #require(waiting).value
      #expect(!Self.isWaiting(next))
      let engine = try await parts.begin(FlowRegistry([]), EngineMetrics(next.metrics, of: "desk"))
      #expect(try await engine.store.found(kept)?.body == [7])
      _ = try await parts.services(engine)
      await engine.store.close()
      await parts.storage.close()
    }
  }

  @Test func `A file of another service ends the start with its name`() async throws {
    try await StoreUnderTest.withFile { path in
      let other = try await Database.open(path: path, kind: .coordinator, migrations: ServiceSchema.migrations)
      await other.close()
      let error = await #expect(throws: StartError.self) { try await Self.open(path, Self.context()) }
      #expect(error?.exitCode == .configuration)
      #expect(error?.description.contains("is the file of the coordinator, not of accounts") == true)
    }
  }

  @Test func `The database is a file of the service, unless the configuration names a server`() throws {
    guard case .sqlite(let path, let options) = try Self.load([:]).database else {
      Issue.record("not SQLite")
      return
    }
    #expect(path == "/var/lib/countersign/desk.sqlite" && options.readers == 2)
    let server = try Self.load([
      "COUNTERSIGN_DATABASE_TYPE": "postgresql", "COUNTERSIGN_DATABASE_URL": "postgresql://desk@localhost/desk",
    ]).database
    guard case .postgresql(let settings) = server else {
      Issue.record("not PostgreSQL")
      return
    }
    #expect(settings.endpoint.user == "desk")
  }
}
