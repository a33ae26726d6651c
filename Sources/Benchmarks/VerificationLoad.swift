public import AMQP
import HTTPServer
import Messages
import Synchronization
import Telemetry

/// Complete verifications: start, message, check, over coordinator and workers, with the provider in this process.
public struct VerificationLoad: Sendable {
  /// What was measured.
  public struct Result: Sendable, Hashable {
    /// Verifications that were approved.
    public let approved: Int
    /// Those that were not, by the error's code.
    public let failed: [String: Int]
    /// Messages that reached the provider for a number that had one already.
    public let repeated: Int
    /// Approved verifications per second.
    public let rate: Double
    /// From the publishing of the command to the arrival of the request at the provider.
    public let commandToProvider: LatencySummary?
    /// From the publishing of the command to the approval.
    public let whole: LatencySummary?
  }

  private let endpoint: BrokerEndpoint
  private let app: String
  private let providerPort: UInt16
  /// The first number of the run: other runs within ten minutes use others.
  private let firstNumber: Int

  private static let requestTimeout: Duration = .seconds(30)
  private static let messageTimeout: Duration = .seconds(60)

  /// - Parameters:
  ///   - endpoint: a user who may send commands.
  ///   - app: one in mode `trusted`.
  ///   - providerPort: where the workers' lane sends its requests, on the loopback interface.
  ///   - firstNumber: where in the list of numbers to begin.
  public init(endpoint: BrokerEndpoint, app: String, providerPort: UInt16, firstNumber: Int) {
    self.endpoint = endpoint
    self.app = app
    self.providerPort = providerPort
    self.firstNumber = firstNumber
  }

  private struct Tally {
    var failed: [String: Int] = [:]
    var commandToProvider: [Duration] = []
    var whole: [Duration] = []
  }

  /// As fast as it goes, with a fixed number of verifications under way.
  public func closedLoop(count: Int, underWay: Int) async throws -> Result {
    try await run(count: count) { tally, provider, client in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<count {
          if index >= underWay { try await group.next() }
          group.addTask { await verify(index, client, provider, tally) }
        }
        try await group.waitForAll()
      }
    }
  }

  /// At a fixed rate, whatever the answers do: a late answer does not hold back the next command.
  /// - Parameter perSecond: commands per second.
  public func openLoop(count: Int, perSecond: Int) async throws -> Result {
    try await run(count: count) { tally, provider, client in
      let begun = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<count {
          try await Task.sleep(
            until: begun + .nanoseconds(1_000_000_000 / perSecond) * index, tolerance: .zero, clock: .continuous)
          group.addTask { await verify(index, client, provider, tally) }
        }
        try await group.waitForAll()
      }
    }
  }

  private func run(
    count: Int,
    _ load: @Sendable (TallyBox, LoadProvider, RequestClient) async throws -> Void
  ) async throws -> Result {
    let provider = LoadProvider()
    let server = try provider.listen(port: providerPort)
    let client = RequestClient(endpoint: endpoint, options: ConnectionOptions(name: "bench-client"), onEvent: { _ in })
    let tally = TallyBox()
    let took = try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      let watch = Task {
        while !Task.isCancelled {
          try await Task.sleep(for: .seconds(1))
          provider.giveUp(after: Self.messageTimeout)
        }
      }
      defer { watch.cancel() }
      let took: Duration
      do {
        took = try await ContinuousClock().measure { try await load(tally, provider, client) }
      } catch {
        await client.stop()
        throw error
      }
      await client.stop()
      try await group.waitForAll()
      return took
    }
    await server.stop()
    let all = tally.contents
    return Result(
      approved: all.whole.count, failed: all.failed, repeated: provider.repeated,
      rate: Double(all.whole.count) / took.inSeconds,
      commandToProvider: LatencySummary(all.commandToProvider), whole: LatencySummary(all.whole))
  }

  private final class TallyBox: Sendable {
    private let tally = Mutex(Tally())
    var contents: Tally { tally.withLock { $0 } }

    func failed(_ code: String) { tally.withLock { $0.failed[code, default: 0] += 1 } }

    func approved(commandToProvider: Duration, whole: Duration) {
      tally.withLock {
        $0.commandToProvider.append(commandToProvider)
        $0.whole.append(whole)
      }
    }
  }

  private func verify(
    _ index: Int, _ client: RequestClient, _ provider: LoadProvider, _ tally: TallyBox
  ) async {
    let number = BenchmarkNumbers.number(at: firstNumber + index)
    let begun = ContinuousClock.now
    do {
      let started = try await ask(StartVerification(phoneNumber: number, app: app, languageCode: "en"), client)
      guard let arrival = await provider.arrival(for: number) else { return tally.failed("NO_MESSAGE") }
      _ = try await ask(
        CheckVerification(verificationID: started.verificationID, code: SecretField(Secret(arrival.code))), client)
      tally.approved(commandToProvider: arrival.at - begun, whole: .now - begun)
    } catch let error as APIError {
      tally.failed(error.code.rawValue)
    } catch {
      tally.failed(String(describing: type(of: error)))
    }
  }

  private func ask<C: Command>(_ command: C, _ client: RequestClient) async throws -> C.Reply {
    let envelope = Envelope(type: C.type, messageID: MessageID.make(), timestamp: SystemClock().now(), appID: "bench")
    let reply = try await client.request(
      envelope.message(body: try command.json()), exchange: Topology.Exchanges.commands, routingKey: C.routingKey,
      timeout: Self.requestTimeout)
    if reply.type == ErrorReply.type.text { throw try ErrorReply(json: reply.body).error }
    return try C.Reply(json: reply.body)
  }
}
