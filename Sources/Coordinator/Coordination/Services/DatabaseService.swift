import CountersignConcurrency
import CountersignTelemetry
import SQLite
import ServiceRuntime

/// Closes the database when all its users have ended.
struct DatabaseService: Service {
  let name = "database"
  let database: Database
  /// Released when the database is closed.
  let owner: FileOwner
  let relay: OutboxRelay
  let log: Logger
  private let stopRequested = Latch()

  init(_ database: Database, _ owner: FileOwner, relay: OutboxRelay, log: Logger) {
    self.database = database
    self.owner = owner
    self.relay = relay
    self.log = log
  }

  func run() async {
    await stopRequested.wait()
    do {
      // Otherwise the next run would publish confirmed messages again.
      try await relay.deleteConfirmed()
    } catch {
      log.warning("what was published is not deleted, and will be published again", [.error: error.description])
    }
    await database.close()
  }

  func stop() async {
    stopRequested.open()
  }
}
