/// Rate at which a benchmark sends commands.
package enum LoadPace: Sendable {
  /// As fast as the system permits, with a fixed number in progress.
  case closedLoop(inProgress: Int)
  /// At a fixed rate: late answers do not delay the next command.
  case openLoop(perSecond: Int)

  func measure(_ count: Int, _ one: @escaping @Sendable (_ index: Int) async -> Void) async throws -> Duration {
    try await ContinuousClock().measure {
      switch self {
      case .closedLoop(let inProgress): await Self.closedLoop(count, inProgress, one)
      case .openLoop(let perSecond): try await Self.openLoop(count, perSecond, one)
      }
    }
  }

  private static func closedLoop(
    _ count: Int, _ inProgress: Int, _ one: @escaping @Sendable (Int) async -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        if index >= inProgress { await group.next() }
        group.addTask { await one(index) }
      }
    }
  }

  private static func openLoop(
    _ count: Int, _ perSecond: Int, _ one: @escaping @Sendable (Int) async -> Void
  ) async throws {
    let begun = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        try await Task.sleep(
          until: begun + .nanoseconds(1_000_000_000 / perSecond) * index, tolerance: .zero, clock: .continuous)
        group.addTask { await one(index) }
      }
      try await group.waitForAll()
    }
  }
}
