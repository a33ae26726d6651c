import CountersignConcurrency
import ServiceRuntime

/// Runs the maintenance until it is stopped. The current round is abandoned: all of it can be repeated.
struct MaintenanceService: Service {
  let name = "maintenance"
  let loop: MaintenanceLoop
  private let stopRequested = Latch()

  init(_ loop: MaintenanceLoop) {
    self.loop = loop
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.loop.run() }
      group.addTask { await self.stopRequested.wait() }
      await group.next()
      group.cancelAll()
    }
  }

  func stop() async {
    stopRequested.open()
  }
}
