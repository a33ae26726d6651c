import HTTPServer
public import Telemetry

/// Serves `/livez`, `/readyz`, `/metrics`, and what else the process answers.
public final class HealthService: Service {
  public let name = "http"

  /// The server, listening from the start, so that a port in use is found before anything else begins.
  private let server: HTTPServer
  private let stopRequested = Gate()

  /// Starts to listen.
  /// - Parameters:
  ///   - configuration: where.
  ///   - health: answers `/readyz`.
  ///   - metrics: answers `/metrics`.
  ///   - routes: answer everything else.
  /// - Throws: an error that names host, port and the key to change.
  public init(
    _ configuration: CommonConfiguration.HTTPConfiguration, health: HealthRegistry, metrics: MetricsRegistry,
    routes: HTTPRoutes = HTTPRoutes()
  ) throws(StartError) {
    do {
      server = try HTTPServer(
        host: configuration.host, port: configuration.port, maxBodyBytes: HTTPRoutes.maxBodyBytes
      ) { request in
        if let handler = routes.handler(of: request.path) { return .respond(await handler(request)) }
        return .respond(Self.answer(request, health, metrics))
      }
    } catch {
      throw Self.startError(error, configuration)
    }
  }

  /// The port it listens on.
  public var port: UInt16 { server.port }

  public func run() async {
    await stopRequested.wait()
    await server.stop()
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
    default: return HTTPServerResponse(status: 404, text: "there are /livez, /readyz and /metrics\n")
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

  private static func startError(
    _ error: HTTPServerError, _ configuration: CommonConfiguration.HTTPConfiguration
  ) -> StartError {
    let place = "\(configuration.host):\(configuration.port)"
    switch error.code {
    case .portInUse:
      return StartError(
        .unavailable, "http: port \(configuration.port) on \(configuration.host) is in use",
        mend: "stop what listens there, or set http.port (COUNTERSIGN_HTTP_PORT) to another one")
    case .permissionDenied:
      return StartError(
        .noPermission, "http: no permission to listen on \(place)",
        mend: "set http.port (COUNTERSIGN_HTTP_PORT) to 1024 or above")
    case .addressNotAvailable, .hostNotFound:
      return StartError(
        .configuration, "http: \(configuration.host) is not an address of this machine",
        mend: "set http.host (COUNTERSIGN_HTTP_HOST) to one, to 127.0.0.1, or to 0.0.0.0 for all")
    default:
      return StartError(.unavailable, "http: cannot listen on \(place): \(error.description)", mend: nil)
    }
  }
}
