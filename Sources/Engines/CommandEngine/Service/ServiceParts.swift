import CountersignAMQP
import CountersignConcurrency
import RecordStore
import ServiceRuntime

/// Closes the database when all its users have ended.
struct DatabaseService: Service {
  let name = "database"
  let storage: any ServiceStorage
  let maintenance: Maintenance
  let store: any Store
  private let stopRequested = Latch()

  init(_ storage: any ServiceStorage, maintenance: Maintenance, store: any Store) {
    self.storage = storage
    self.maintenance = maintenance
    self.store = store
  }

  func run() async {
    await stopRequested.wait()
    await maintenance.end()
    await store.close()
    await storage.close()
  }

  func stop() async {
    stopRequested.open()
  }
}

struct PublisherService: Service {
  let name = "publisher"
  let publisher: Publisher

  func run() async {
    await publisher.run()
  }

  func stop() async {
    await publisher.stop()
  }
}

/// Taken deliveries are finished first.
struct PipelineService: Service {
  let name: String
  let pipeline: any QueuePipeline

  func run() async {
    await pipeline.run()
  }

  func stop() async {
    await pipeline.stop()
  }
}

/// At a stop the current round is abandoned: all of it can be repeated.
struct MaintenanceService: Service {
  let name = "maintenance"
  let loop: Maintenance
  private let stopRequested = Latch()

  init(_ loop: Maintenance) {
    self.loop = loop
  }

  func run() async {
    await stopRequested.cancelingWhenOpen { await self.loop.run() }
  }

  func stop() async {
    stopRequested.open()
  }
}
