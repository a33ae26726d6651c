package import CountersignTelemetry
import HTTPServer

/// Simulates SMS providers, APNs, reCAPTCHA and identity providers on one port: answers, refuses and fails like them,
/// and shows the messages it has received.
///
/// It listens from `init` to `stop()`. ``SimulatorGuide/text`` describes it; `GET /control` shows that text.
package final class Simulator: Sendable {
  /// Twilio's longest message is far below.
  static let maxBodyBytes = 65_536
  /// More than all workers of a test together have in flight.
  private static let maxConnections: UInt32 = 4_096

  private let server: HTTPServer
  private let smpp: SMPPServer?

  /// Port it listens on.
  package var port: UInt16 { server.port }
  /// Port of its SMPP server, if there is one.
  package var smppPort: UInt16? { smpp?.port }
  /// URL of its root, for a client on this machine.
  package var url: String { "http://\(server.host.contains(":") ? "[\(server.host)]" : server.host):\(port)" }

  /// Listens, and answers from now on.
  ///
  ///   - Parameters:
  ///   - settings: address, accounts and keys.
  ///   - metrics: metrics that `/metrics` shows.
  ///   - clock: time of delivery reports and of webhook timestamps.
  /// - random: numbers from 0 to below 1, for faults with a probability.
  /// - Throws: if it cannot listen, or the webhook's secret is not valid.
  package init(
    _ settings: SimulatorSettings, metrics: MetricsRegistry = MetricsRegistry(),
    clock: any WallClock = SystemClock(), random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) throws(SimulationError) {
    let router = try Router(settings, metrics: metrics, clock: clock, random: random)
    do {
      server = try HTTPServer(
        host: settings.host, port: settings.port, maxBodyBytes: Self.maxBodyBytes,
        limits: HTTPServerLimits(connections: Self.maxConnections)
      ) { await router.reply($0) }
    } catch {
      throw SimulationError(code: .cannotListen, description: error.description)
    }
    smpp = try settings.smpp.map { smpp throws(SimulationError) in
      try SMPPServer(
        host: settings.host, account: SMPPAccount(smpp, gate: router.gate), receipts: router.receipts)
    }
  }

  /// Stops listening. Requests held by a fault are dropped.
  package func stop() async {
    smpp?.stop()
    await server.stop(grace: .milliseconds(200))
  }
}

/// Error that keeps a simulator from starting.
package struct SimulationError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: Sendable {
    case cannotListen
    /// The webhook's secret, or a key, is not valid.
    case invalidSecret
  }

  package let code: Code
  /// One line, safe to log.
  package let description: String
  /// Whether the same call may succeed later with the same configuration.
  package var isRetriable: Bool { code == .cannotListen }
}
