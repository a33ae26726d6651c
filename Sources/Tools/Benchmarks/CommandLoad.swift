import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Rate at which a benchmark sends commands.
public enum LoadPace: Sendable {
  /// As fast as the system permits, with a fixed number in progress.
  case closedLoop(inProgress: Int)
  /// At a fixed rate: late answers do not delay the next command.
  case openLoop(perSecond: Int)

  /// Does a number of things at this rate.
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

/// Sends commands as a service would, from a process that simulates the provider as well, for verifications and proofs
/// alike.
struct CommandLoad: Sendable {
  let endpoint: BrokerEndpoint
  /// Loopback port that the workers' lane sends its requests to.
  let providerPort: UInt16

  /// One verification or proof of the run, by its number.
  typealias One = @Sendable (_ index: Int, _ client: RequestClient, _ provider: LoadProvider) async -> Void

  private static let requestTimeout: Duration = .seconds(30)
  func run(count: Int, _ pace: LoadPace, _ one: @escaping One) async throws -> (took: Duration, provider: LoadProvider)
  {
    let provider = LoadProvider()
    let took = try await provider.serving(port: providerPort) {
      let client = RequestClient(
        endpoint: endpoint, options: ConnectionOptions(name: "bench-client"), onEvent: { _ in })
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await client.run() }
        let took: Duration
        do {
          took = try await pace.measure(count) { await one($0, client, provider) }
        } catch {
          await client.stop()
          throw error
        }
        await client.stop()
        try await group.waitForAll()
        return took
      }
    }
    return (took, provider)
  }

  static func ask<C: Command>(_ command: C, _ client: RequestClient) async throws -> C.Reply {
    let envelope = Envelope(type: C.type, messageID: MessageID.make(), timestamp: SystemClock().now(), appID: "bench")
    let reply = try await client.request(
      envelope.message(body: try command.json()), exchange: Topology.Exchanges.commands, routingKey: C.routingKey,
      timeout: requestTimeout)
    if reply.type == ErrorReply.type.text { throw try ErrorReply(json: reply.body).error }
    return try C.Reply(json: reply.body)
  }
}
