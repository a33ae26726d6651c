import ServiceRuntime

/// Runs the maintenance until it is stopped. A round that is under way is given up: all of it can be done again.
struct MaintenanceService: Service {
  let name = "maintenance"
  let loop: MaintenanceLoop
  private let stopSignal = StopSignal()

  init(_ loop: MaintenanceLoop) {
    self.loop = loop
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.loop.run() }
      group.addTask { await self.stopSignal.wait() }
      await group.next()
      group.cancelAll()
    }
  }

  func stop() async {
    stopSignal.send()
  }
}
