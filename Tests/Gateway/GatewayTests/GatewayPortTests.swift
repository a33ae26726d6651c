import CountersignConcurrency
import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import Projects
import ServiceRuntime
import TestSupport
import Testing

@testable import Gateway

@Suite struct GatewayPortTests {
  private func endpoint(_ context: ServiceContext, begun: Latch) throws -> GatewayEndpoint {
    let key = try PrivateSealingKey.generate(id: "a")
    let rules = try GatewayRules(
      projects: ProjectsSource(Projects([GatewayBench.project])), isDevelopment: false,
      sealingKeys: PublicSealingKeys(jwkSet: Array(PrivateSealingKeys([key]).publicSet.utf8)))
    let slow = Route.v1("signUp", .post, "accounts:signUp", old: "signupNewUser", waitsFor: .accounts) {
      _ async throws(ProtocolError) -> CallAnswer in
      begun.open()
      try? await Task.sleep(for: .seconds(3))
      return CallAnswer()
    }
    return GatewayEndpoint(
      [slow], rules, proxies: TrustedProxies(ranges: []), maxInFlight: 8, clock: SystemMonotonicClock(),
      metrics: GatewayMetrics(context.metrics), logger: context.logger)
  }

  @Test func `A stop answers what began, longer than other ports wait, and then ends`() async throws {
    let context = ServiceContext(
      name: "gateway", instance: "gateway@test", logger: Logger(label: "gateway", sink: MemoryLog()))
    let settings = ListenSettings(
      address: CommonConfiguration.HTTPConfiguration(host: "127.0.0.1", port: 0), connections: 64,
      connectionsPerClient: 64, maxInFlight: 8)
    let begun = Latch()
    let port = try GatewayPort(settings, proxies: TrustedProxies(ranges: []), endpoint(context, begun: begun), context)
    async let ended: Void = port.run()
    let client = try HTTPClient()
    let url = "http://127.0.0.1:\(port.port)\(GatewayBench.signUp)?key=\(GatewayBench.apiKey)"
    async let response = client.send(HTTPRequest(method: "POST", url: url, body: [], timeouts: .patient))
    await begun.wait()
    await port.stop()
    #expect(try await response.status == 200)
    await ended
    await #expect(throws: TransportError.self) {
      try await client.send(HTTPRequest(method: "POST", url: url, body: []))
    }
    await client.shutdown()
  }
}
