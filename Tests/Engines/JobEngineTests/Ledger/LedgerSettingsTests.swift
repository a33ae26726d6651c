import FoundationEssentials
import PostgreSQL
import ServiceRuntime
import TestSupport
import Testing

@testable import JobEngine

private struct Probe: Configuration {
  let worker: WorkerSettings
  var ledger: LedgerSettings { worker.ledger }

  init(_ section: ConfigurationSection) {
    worker = WorkerSettings(section, ledgerPath: "ledger.sqlite")
  }
}

@Suite struct LedgerSettingsTests {
  private func load(_ environment: [String: String]) -> (WorkerSettings?, problem: String) {
    do throws(ConfigurationError) {
      return (try Probe.load(file: nil, environment: environment).content.worker, "")
    } catch {
      return (nil, "\(error)")
    }
  }

  private let shared = [
    "COUNTERSIGN_LEDGER_TYPE": "postgresql",
    "COUNTERSIGN_LEDGER_URL": "postgresql://worker@127.0.0.1:5433/countersign",
  ]

  @Test func `The path of the file can be set by the environment, as systemd's units do`() throws {
    let path = "/var/lib/countersign-sms-worker/ledger.sqlite"
    let moved = try Probe.load(file: nil, environment: ["COUNTERSIGN_LEDGER_PATH": path]).content.ledger
    #expect(moved.path == path)
    #expect(try Probe.load(file: nil, environment: [:]).content.ledger.path.hasSuffix("ledger.sqlite"))
  }

  @Test func `A database is read with its keys`() throws {
    let ledger = try #require(load(shared).0?.ledger)
    #expect(ledger.kind == .postgresql)
    #expect(ledger.postgresql?.endpoint.database == "countersign")
    #expect(ledger.postgresql?.endpoint.hosts.map(\.port) == [5433])
    #expect(load([:]).0?.ledger.postgresql == nil)
  }

  @Test func `A database without its URL, and a URL without its type, are named with the remedy`() {
    #expect(load(["COUNTERSIGN_LEDGER_TYPE": "postgresql"]).problem.contains("ledger.url"))
    #expect(load(["COUNTERSIGN_LEDGER_URL": "postgresql://a@b/c"]).problem.contains("set type to postgresql"))
    #expect(load(["COUNTERSIGN_LEDGER_TYPE": "postgres"]).problem.contains("postgresql"))
    let far = shared.merging(["COUNTERSIGN_LEDGER_URL": "postgresql://worker@db.example.com/countersign"]) { $1 }
    #expect(load(far).0?.ledger.postgresql?.endpoint.tls != nil, "never in the clear to another machine")
  }

  @Test func `It has no key for connections that read: nothing would use them`() async throws {
    try await withTemporaryDirectory { directory in
      let file = directory + "/worker.json5"
      let text = "{ledger: {type: 'postgresql', url: 'postgresql://worker@127.0.0.1/countersign', readers: 8}}"
      try Data(text.utf8).write(to: URL(filePath: file))
      let error = #expect(throws: ConfigurationError.self) { try Probe.load(file: file, environment: [:]) }
      #expect(error?.description.contains("ledger.readers: unknown key") == true)
    }
  }

  @Test func `A claim outlives its call by the margin, within its bounds`() {
    #expect(load([:]).0?.ledger.leaseMargin == .seconds(30))
    #expect(load(["COUNTERSIGN_LEDGER_LEASE_MARGIN_SECONDS": "15"]).0?.ledger.leaseMargin == .seconds(15))
    for text in ["14.9", "301"] {
      let problem = load(["COUNTERSIGN_LEDGER_LEASE_MARGIN_SECONDS": text]).problem
      #expect(problem.contains("ledger.leaseMarginSeconds"))
    }
  }

  @Test func `With a ledger that all hosts share their number has no effect`() throws {
    let several = shared.merging(["COUNTERSIGN_QUEUE_CONSUMERS": "severalHosts"]) { $1 }
    #expect(load(several).0?.consumers == .oneHost)
    #expect(load(["COUNTERSIGN_QUEUE_CONSUMERS": "severalHosts"]).0?.consumers == .severalHosts)
  }
}
