import CountersignConcurrency
public import CountersignTelemetry
import HTTPServer

/// Serves `/livez`, `/readyz`, `/runtime` and `/metrics`, and nothing else.
public final class HealthService: Service {
  public let name = "http"

  /// Listens from the start, so that a port in use is found before anything else begins.
  private let listener: HTTPListener
  private let stopRequested = Latch()

  /// The clients are probes and collectors of metrics: few connections, small requests that arrive at once.
  private static let limits = HTTPServerLimits(
    connections: 256, connectionsPerClient: 64, idleTimeout: .seconds(60), requestTime: .seconds(10))
  /// No page accepts a body.
  private static let maxBodyBytes = 1024

  /// Starts to listen.
  /// - Parameters:
  ///   - configuration: host and port.
  ///   - health: answers `/readyz`.
  ///   - runtime: answers `/runtime`.
  ///   - metrics: answers `/metrics`.
  /// - Throws: an error that names host, port and the key to change.
  public init(
    _ configuration: CommonConfiguration.HTTPConfiguration, health: HealthRegistry,
    runtime: RuntimeRegistry = RuntimeRegistry(), metrics: MetricsRegistry, clock: any WallClock = SystemClock()
  ) throws(StartError) {
    listener = try HTTPListener(
      configuration, section: "http", metrics: metrics, maxBodyBytes: Self.maxBodyBytes, limits: Self.limits
    ) { request in
      if request.path == "/runtime", request.isReading {
        return Self.json(200) { try runtime.report(clock: clock, isGuarded: false).json() }
      }
      return Self.answer(request, health, metrics)
    }
  }

  /// The port it listens on.
  public var port: UInt16 { listener.port }

  public func run() async {
    await stopRequested.waitIgnoringCancellation()
    await listener.stop()
  }

  public func stop() async {
    stopRequested.open()
  }

  private static func answer(
    _ request: HTTPServerRequest, _ health: HealthRegistry, _ metrics: MetricsRegistry
  ) -> HTTPServerResponse {
    guard request.isReading else {
      return HTTPServerResponse(status: 405, headers: ["Allow": "GET, HEAD"])
    }
    switch request.path {
    case "/livez": return HTTPServerResponse(status: 200, text: "ok\n")
    case "/readyz":
      let report = health.report()
      return json(report.ready ? 200 : 503) { try report.json() }
    case "/metrics":
      return HTTPServerResponse(
        status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", text: metrics.render())
    default: return HTTPServerResponse(status: 404, text: "available: /livez, /readyz, /runtime and /metrics\n")
    }
  }

  private static func json(_ status: Int, _ body: () throws -> [UInt8]) -> HTTPServerResponse {
    do {
      return HTTPServerResponse(status: status, headers: ["Content-Type": "application/json"], body: try body())
    } catch {
      return HTTPServerResponse(status: 500, text: "the report cannot be written\n")
    }
  }
}

extension HTTPServerRequest {
  fileprivate var isReading: Bool { method == "GET" || method == "HEAD" }
}
