public import CountersignTelemetry
import HTTPServer

/// Stands in for SMS providers, APNs, reCAPTCHA and Sign in with Apple on one port: answers, refuses and fails like them, and shows what it has received.
///
/// It is listening from `init` to `stop()`. ``SimulatorGuide/text`` says what there is; `GET /control` shows it.
public final class Simulator: Sendable {
  /// The longest request body; Twilio's longest message is far below.
  static let maxBodyBytes = 65_536
  /// Connections: more than all workers of a test together have in flight.
  private static let maxConnections: UInt32 = 4_096

  private let server: HTTPServer
  private let smpp: SMPPServer?

  /// The port it listens on.
  public var port: UInt16 { server.port }
  /// The port of its SMPP server, if there is one.
  public var smppPort: UInt16? { smpp?.port }
  /// The address of its root, for a client on this machine.
  public var url: String { "http://\(server.host.contains(":") ? "[\(server.host)]" : server.host):\(port)" }

  /// Listens, and answers from now on.
  ///
  /// - Parameters:
  ///   - settings: where to listen, whom to let in.
  ///   - metrics: what `/metrics` shows.
  ///   - clock: the time of receipts and for webhook timestamps.
  ///   - random: numbers from 0 to below 1, for faults with a probability.
  /// - Throws: when it cannot listen, or the webhook's secret is none.
  public init(
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
        host: settings.host, account: SMPPAccount(smpp, inbox: router.inbox), receipts: router.receipts)
    }
  }

  /// Stops listening; requests that a fault holds up are dropped.
  public func stop() async {
    smpp?.stop()
    await server.stop(grace: .milliseconds(200))
  }
}
