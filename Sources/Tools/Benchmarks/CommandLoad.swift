package import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Commands as a service sends them, through coordinator and workers, from a process that plays provider and devices as
/// well.
package struct CommandLoad: Sendable {
  private let endpoint: BrokerEndpoint
  private let app: String
  private let providerPort: UInt16
  private let first: Int

  private static let requestTimeout: Duration = .seconds(30)
  private static let deviceDigits = 64

  /// - Parameters:
  ///   - app: app whose callers are trusted, or that pushes are sent to.
  ///   - providerPort: loopback port that the workers' lane, or the front before it, sends its requests to.
  ///   - first: index of the first phone number or device; other runs within an hour need others.
  package init(endpoint: BrokerEndpoint, app: String, providerPort: UInt16, first: Int) {
    (self.endpoint, self.app, self.providerPort, self.first) = (endpoint, app, providerPort, first)
  }

  /// Measures complete verifications: start, SMS and check.
  package func verifications(_ count: Int, _ pace: LoadPace) async throws -> LoadResult {
    try await run(count, pace) { index, client, provider in
      let number = BenchmarkNumbers.number(at: index)
      let started = try await Self.ask(StartVerification(phoneNumber: number, app: app, languageCode: "en"), client)
      let arrival = try await provider.messages.arrival(for: number)
      let code = SecretField(Secret(arrival.content))
      _ = try await Self.ask(CheckVerification(verificationID: started.verificationID, code: code), client)
      return (arrival.at, .now)
    }
  }

  /// Measures proofs of apps: `app.verify`, its receipt, and the silent push with the secret.
  package func proofs(_ count: Int, _ pace: LoadPace) async throws -> LoadResult {
    try await run(count, pace) { index, client, provider in
      let device = Hexadecimal.text(UInt64(index), width: Self.deviceDigits)
      let verifying = try await Self.ask(
        VerifyApp(app: app, deviceToken: device, environment: .production), client)
      let replied = ContinuousClock.now
      let push = try await provider.pushes.arrival(for: device)
      guard push.content.receipt == verifying.receipt, !push.content.secret.isEmpty else {
        throw LoadFailure(code: "WRONG_PUSH")
      }
      // A push may overtake the reply; the app needs both.
      return (replied, max(push.at, replied))
    }
  }

  private func run(
    _ count: Int, _ pace: LoadPace,
    _ one: @escaping @Sendable (_ index: Int, RequestClient, LoadProvider) async throws -> LoadTally.Instants
  ) async throws -> LoadResult {
    let (tally, provider) = (LoadTally(), LoadProvider())
    let took = try await provider.serving(port: providerPort) {
      let client = RequestClient(
        endpoint: endpoint, options: ConnectionOptions(name: "bench-client"), onEvent: { _ in })
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await client.run() }
        let took: Duration
        do {
          took = try await pace.measure(count) { index in
            await tally.time { try await one(first + index, client, provider) }
          }
        } catch {
          await client.stop()
          throw error
        }
        await client.stop()
        try await group.waitForAll()
        return took
      }
    }
    return tally.result(in: took, repeated: provider.repeated)
  }

  private static func ask<C: Command>(_ command: C, _ client: RequestClient) async throws -> C.Reply {
    let envelope = Envelope(type: C.type, messageID: MessageID.make(), timestamp: SystemClock().now(), appID: "bench")
    let reply = try await client.request(
      envelope.message(body: try command.json()), exchange: Topology.Exchanges.commands, routingKey: C.routingKey,
      timeout: requestTimeout)
    if reply.type == ErrorReply.type.text { throw try ErrorReply(json: reply.body).error }
    return try C.Reply(json: reply.body)
  }
}
