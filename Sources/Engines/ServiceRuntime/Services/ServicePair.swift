/// Two services that stop at the same time, so that each has the whole time available.
public struct ServicePair: Service {
  public let name: String
  private let first: any Service
  private let second: any Service
  private let finish: @Sendable () async -> Void

  public init(
    name: String, _ first: any Service, _ second: any Service, finish: @escaping @Sendable () async -> Void = {}
  ) {
    self.name = name
    self.first = first
    self.second = second
    self.finish = finish
  }

  /// Runs both. When one ends, by itself or by failing, the other is stopped.
  public func run() async throws {
    let (first, second) = (first, second)
    let failure = await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Self.run(first, thenStopping: second) }
      group.addTask { try await Self.run(second, thenStopping: first) }
      // A failure of one is reported when the other has ended, too.
      var failure: (any Error)?
      while let result = await group.nextResult() {
        if case .failure(let error) = result { failure = failure ?? error }
      }
      return failure
    }
    await finish()
    if let failure { throw failure }
  }

  public func stop() async {
    let (first, second) = (first, second)
    await withDiscardingTaskGroup { group in
      group.addTask { await first.stop() }
      group.addTask { await second.stop() }
    }
  }

  private static func run(_ service: any Service, thenStopping other: any Service) async throws {
    do {
      try await service.run()
    } catch {
      await other.stop()
      throw error
    }
    await other.stop()
  }
}
