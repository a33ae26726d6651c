import CountersignTelemetry
import FoundationEssentials
import PostgreSQL
import ServiceRuntime
import TestSupport
import Testing

@testable import JobEngine

/// A worker that starts while the server of its ledger is away.
@Suite struct LedgerWaitTests {
  private struct Canceled: Error {}

  private func settings(_ url: String, passwordFile: String? = nil) throws -> LedgerSettings {
    struct Probe: Configuration {
      let ledger: LedgerSettings
      init(_ section: ConfigurationSection) {
        ledger = LedgerSettings(section.section("ledger"), path: "ledger.sqlite")
      }
    }
    var environment = ["COUNTERSIGN_LEDGER_TYPE": "postgresql", "COUNTERSIGN_LEDGER_URL": url]
    environment["COUNTERSIGN_LEDGER_PASSWORD_FILE"] = passwordFile
    return try Probe.load(file: nil, environment: environment).content.ledger
  }

  private func context(_ sink: MemorySink = MemorySink()) -> ServiceContext {
    ServiceContext(name: "worker", instance: "worker@host/1", logger: Logger(label: "test", sink: sink))
  }

  @Test func `It waits, and readiness and the log say for what`() async throws {
    let sink = MemorySink()
    let context = context(sink)
    let ledger = try settings("postgresql://worker@127.0.0.1:\(refusingPort)/countersign")
    var waits = 0
    await #expect(throws: Canceled.self) {
      try await ledger.waitForServer(context) { _ in
        waits += 1
        if waits == 3 { throw Canceled() }
      }
    }
    #expect(waits == 3)
    #expect(context.health.report().checks.first { $0.name == "ledger" }?.problem?.contains("127.0.0.1") == true)
    // Once for a reason.
    #expect(sink.events.count == 1)
  }

  @Test func `Marks wait for the server too, and do without it only when no wait helps`() async throws {
    let away = try settings("postgresql://worker@127.0.0.1:\(refusingPort)/countersign")
    var (waits, checks): (Int, [Bool?]) = (0, [])
    let context = context()
    let none = await away.openMarks(in: NoLedger(), for: context) { _ in
      waits += 1
      checks.append(context.health.report().checks.first { $0.name == "ledger" }?.problem?.contains("127.0.0.1"))
      if waits == 3 { throw Canceled() }
    }
    #expect(none == nil)
    #expect(checks == [true, true, true])
    try await PrivatePostgreSQL.admit {
      try await with(try await PrivatePostgreSQL.shared.database()) { bare in
        let marks = await bare.openMarks(in: NoLedger(), for: context) { _ in
          Issue.record("waits for tables that are missing")
          throw Canceled()
        }
        #expect(marks == nil)
      }
    }
  }

  private func with(
    _ socket: PostgreSQLEndpoint, password: String = PrivatePostgreSQL.password,
    _ body: (LedgerSettings) async throws -> Void
  ) async throws {
    let endpoint = try await PrivatePostgreSQL.shared.server.overTCP(socket)
    let host = "127.0.0.1:\(endpoint.hosts[0].port)"
    try await withTemporaryDirectory { directory in
      let file = directory + "/password"
      try Data(password.utf8).write(to: URL(filePath: file))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
      try await body(
        settings("postgresql://\(PrivatePostgreSQL.user)@\(host)/\(endpoint.database)", passwordFile: file))
    }
  }

  @Test func `It goes on as soon as the server lets it in`() async throws {
    let context = context()
    try await withSharedDatabase { database in
      for (password, isRight) in [("wrong", false), (PrivatePostgreSQL.password, true)] {
        try await with(database, password: password) { ledger in
          do {
            try await ledger.waitForServer(context) { _ in throw Canceled() }
            #expect(isRight)
          } catch is Canceled {
            #expect(!isRight, "it may be corrected meanwhile")
          }
        }
      }
    }
    let ledger = context.health.report().checks.first { $0.name == "ledger" }
    #expect(ledger != nil && ledger?.problem == nil)
  }

  @Test func `Tables that are missing end it as a wrong configuration does, its own and those of the worker`()
    async throws
  {
    func fails(_ database: PostgreSQLEndpoint, _ parts: [PostgreSQLSchemaPart], naming part: String) async throws {
      try await with(database) { ledger in
        let error = await #expect(throws: WorkerError.self) {
          try await ledger.waitForServer(context(), parts: parts) { _ in throw Canceled() }
        }
        #expect(error?.exitCode == .configuration)
        #expect(error?.description.contains("'\(part)'") == true)
      }
    }
    try await withSharedDatabase { database in
      try await fails(database, [PostgreSQLSchemaPart("extra", ["SELECT 1"])], naming: "extra")
      try await fails(try await PrivatePostgreSQL.shared.database(), [], naming: "ledger")
    }
  }

  @Test func `Tables that go between the wait and the opening end it alike`() async throws {
    try await PrivatePostgreSQL.admit {
      try await with(try await PrivatePostgreSQL.shared.database()) { ledger in
        let error = await #expect(throws: WorkerError.self) { _ = try await ledger.open(for: "worker@host/1") }
        #expect(error?.exitCode == .configuration)
      }
    }
  }
}
