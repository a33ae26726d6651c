import CountersignTelemetry
import HTTPClient
import HTTPServer
import ServiceRuntime
import TestSupport
import Testing

@Suite struct HealthTests {
  @Test func `Ready when running and no check fails`() {
    let health = HealthRegistry()
    #expect(health.report().checks.map(\.problem) == ["is starting"])
    health.setRunning()
    #expect(health.report().ready)
    health.register("lane") { .failing("no credentials", hint: "write them") }
    #expect(!health.report().ready)
    #expect(health.report().checks.first?.hint == "write them")
    health.register("lane") { .ok }
    #expect(health.report().ready)
    health.setStopping()
    health.setRunning()
    #expect(health.report().checks.first?.problem == "is stopping")
  }

  @Test func `It answers nothing beside health and metrics`() async throws {
    let configuration = try Listener.load(
      file: nil, environment: ["COUNTERSIGN_HTTP_PORT": "0", "COUNTERSIGN_BROKER_URL": "amqp://localhost"]
    ).content.common
    let metrics = MetricsRegistry()
    let service = try HealthService(configuration.http, health: HealthRegistry(), metrics: metrics)
    for reason in ["client", "late"] {
      #expect(metrics.render().contains(#"turned_away_total{listener="http",reason="\#(reason)"} 0"#))
    }
    let url = "http://127.0.0.1:\(service.port)"
    let client = try HTTPClient()
    func status(_ method: String, _ path: String, _ body: [UInt8]? = nil) async throws -> Int {
      try await client.send(
        HTTPRequest(method: method, url: url + path, body: body, timeouts: .patient)
      ).status
    }
    #expect(try await status("POST", "/receipts/a", [1]) == 405)
    #expect(try await status("POST", "/livez", [UInt8](repeating: 0, count: 1025)) == 413)
    #expect(try await status("GET", "/livez") == 200)
    #expect(try await status("GET", "/metrics") == 200)
    #expect(try await status("GET", "/receipts/a") == 404)
    await client.shutdown()
    await service.stop()
    await service.run()
  }

  @Test func `A port in use is named with the key to change`() throws {
    let taken = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 0) { _ in .close }
    let configuration = try Listener.load(
      file: nil,
      environment: ["COUNTERSIGN_HTTP_PORT": String(taken.port), "COUNTERSIGN_BROKER_URL": "amqp://localhost"]
    ).content.common
    let error = #expect(throws: StartError.self) {
      try HealthService(configuration.http, health: HealthRegistry(), metrics: MetricsRegistry())
    }
    #expect(error?.description.contains("port \(taken.port) on 127.0.0.1 is in use") == true)
    #expect(error?.description.contains("COUNTERSIGN_HTTP_PORT") == true)
    #expect(error?.exitCode == .unavailable)
    withExtendedLifetime(taken) {}
  }
}

struct Listener: ProcessConfiguration {
  let common: CommonConfiguration

  init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8080)
  }
}
