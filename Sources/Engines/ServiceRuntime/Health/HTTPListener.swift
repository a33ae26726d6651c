public import CountersignTelemetry
public import HTTPServer

/// A port on which a process answers HTTP requests, from its initialization until it is stopped.
public final class HTTPListener: Sendable {
  /// Answers a request. It is canceled when the listener stops and its grace period is over.
  public typealias Handler = @Sendable (HTTPServerRequest) async -> HTTPServerResponse

  private let server: HTTPServer

  /// Starts to listen.
  /// - Parameters:
  ///   - address: host and port.
  ///   - section: the section of the configuration with the address, which errors name: `http`.
  ///   - metrics: registry that counts rejected connections.
  ///   - maxBodyBytes: the longest body; a longer one is answered with 413.
  ///   - limits: limits on clients.
  ///   - refusal: answers a request that the handler does not see, from its headers.
  ///   - handler: answers a request.
  /// - Throws: an error that names host, port and the key to change.
  public init(
    _ address: CommonConfiguration.HTTPConfiguration, section: String, metrics: MetricsRegistry, maxBodyBytes: Int,
    limits: HTTPServerLimits,
    refusal: @escaping @Sendable (HTTPServerRequest, HTTPServerRefusal) -> HTTPServerResponse = { .plain($1) },
    handler: @escaping Handler
  ) throws(StartError) {
    let turnedAway = metrics.counter(
      "countersign_http_turned_away_total",
      "Connections that were closed because one client had too many, or a request took too long to arrive: client, late.",
      labels: ["listener", "reason"])
    // An alert must see the first.
    for reason in HTTPServerTurnedAway.allCases { _ = turnedAway.with(section, reason.rawValue) }
    do {
      server = try HTTPServer(
        host: address.host, port: address.port, maxBodyBytes: maxBodyBytes, limits: limits,
        turnedAway: { turnedAway.with(section, $0.rawValue).increment() }, refusal: refusal,
        handler: { .respond(await handler($0)) })
    } catch {
      throw Self.startError(error, address, section)
    }
  }

  /// The port it listens on.
  public var port: UInt16 { server.port }

  /// Stops listening, lets running handlers end, and closes every connection.
  /// - Parameter grace: time that handlers may go on.
  public func stop(grace: Duration = .seconds(2)) async { await server.stop(grace: grace) }

  private static func startError(
    _ error: HTTPServerError, _ address: CommonConfiguration.HTTPConfiguration, _ section: String
  ) -> StartError {
    let place = "\(address.host):\(address.port)"
    let variable = "COUNTERSIGN_\(section.uppercased())"
    switch error.code {
    case .portInUse:
      return StartError(
        .unavailable, "\(section): port \(address.port) on \(address.host) is in use",
        hint: "stop what listens there, or set \(section).port (\(variable)_PORT) to another one")
    case .permissionDenied:
      return StartError(
        .noPermission, "\(section): no permission to listen on \(place)",
        hint: "set \(section).port (\(variable)_PORT) to 1024 or above")
    case .addressNotAvailable, .hostNotFound:
      return StartError(
        .configuration, "\(section): \(address.host) is not an address of this machine",
        hint: "set \(section).host (\(variable)_HOST) to one, to 127.0.0.1, or to 0.0.0.0 for all")
    default:
      return StartError(.unavailable, "\(section): cannot listen on \(place): \(error.description)", hint: nil)
    }
  }
}
