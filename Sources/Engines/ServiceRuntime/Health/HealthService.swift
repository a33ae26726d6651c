import CountersignConcurrency
public import CountersignTelemetry
import HTTPServer

/// Serves `/livez`, `/readyz` and `/metrics`, and nothing else.
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
  ///   - metrics: answers `/metrics`.
  /// - Throws: an error that names host, port and the key to change.
  public init(
    _ configuration: CommonConfiguration.HTTPConfiguration, health: HealthRegistry, metrics: MetricsRegistry
  ) throws(StartError) {
    listener = try HTTPListener(
      configuration, section: "http", metrics: metrics, maxBodyBytes: Self.maxBodyBytes, limits: Self.limits
    ) { Self.answer($0, health, metrics) }
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
    guard request.method == "GET" || request.method == "HEAD" else {
      return HTTPServerResponse(status: 405, headers: ["Allow": "GET, HEAD"])
    }
    switch request.path {
    case "/livez": return HTTPServerResponse(status: 200, text: "ok\n")
    case "/readyz": return readiness(health.report())
    case "/metrics":
      return HTTPServerResponse(
        status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", text: metrics.render())
    default: return HTTPServerResponse(status: 404, text: "available: /livez, /readyz and /metrics\n")
    }
  }

  private static func readiness(_ report: HealthReport) -> HTTPServerResponse {
    do {
      return HTTPServerResponse(
        status: report.ready ? 200 : 503, headers: ["Content-Type": "application/json"], body: try report.json())
    } catch {
      return HTTPServerResponse(status: 500, text: "the report cannot be written\n")
    }
  }
}
