import CountersignTelemetry
import SQLite
import ServiceRuntime
import Testing

@testable import Coordination

@Suite("Maintenance")
struct MaintenanceTests {
  @Test("A part that fails is counted and told of until it succeeds, whatever the others do")
  func aPartThatFailsIsCountedAndToldOfUntilItSucceedsWhatever() async throws {
    try await Bench.with { bench in
      let loop = bench.maintenance
      await loop.tidy()
      #expect(bench.health.state == .ok)
      try await bench.rename("assessment", to: "gone")
      await loop.tidy()
      await loop.tidy()
      let counted = bench.registry.render()
      #expect(counted.contains(#"countersign_maintenance_failures_total{part="end_operations"} 2"#))
      #expect(!counted.contains(#"countersign_maintenance_failures_total{part="end_verifications"}"#))
      guard case .failing(let what, _) = bench.health.state else {
        Issue.record("readiness says that all is well")
        return
      }
      #expect(what.contains("end_operations"))
      try await bench.rename("gone", to: "assessment")
      await loop.tidy()
      #expect(bench.health.state == .ok)
    }
  }
}

extension Bench {
  var maintenance: Maintenance {
    Maintenance(
      Maintenance.Parts(
        sweeper: sweeper, purger: Purger(database: database, inboxRetention: .seconds(3600), clock: clock),
        relay: relay,
        operations: operationSweeper, held: held, conversions: conversionSweeper), interval: .seconds(1),
      health: health,
      metrics: metrics, logger: Logger(label: "test", sink: logs))
  }

  func rename(_ table: String, to name: String) async throws {
    try await database.write { session throws(DatabaseError) -> Void in
      try session.execute("ALTER TABLE \(table) RENAME TO \(name)")
    }
  }
}
