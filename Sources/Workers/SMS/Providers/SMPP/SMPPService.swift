import CountersignTelemetry
import SMPP
import ServiceRuntime

struct SMPPService: Service {
  let name: String
  private let session: SMPPSession

  init(lane: String, session: SMPPSession) {
    self.name = "smpp.\(lane)"
    self.session = session
  }

  /// Maximum time for the server's outstanding answers when the process stops. The jobs have ended by then.
  private static let ceiling: Duration = .seconds(2)

  func run() async { await session.run() }

  func stop() async { session.stop(ceiling: Self.ceiling) }
}

struct SMPPEventLog: Sendable {
  let logger: Logger
  let lane: String

  func write(_ event: SMPPEvent) {
    switch event {
    case .bound: logger.info("bound to the SMPP server", [.lane: lane])
    case .disconnected(let error, let retryIn):
      let level: LogLevel = if case .bindRefused = error.kind { .error } else { .warning }
      logger.log(
        level, "no session with the SMPP server; trying again",
        [.lane: lane, .error: error.description, .hint: Self.hint(error), .retryIn: retryIn])
    case .paused(let pause):
      logger.warning("the SMPP server asks for fewer messages; the lane pauses", [.lane: lane, .duration: pause])
    case .stopped: logger.info("session with the SMPP server closed", [.lane: lane])
    }
  }

  private static func hint(_ error: SMPPError) -> String? {
    switch error.kind {
    case .bindRefused: "check systemID, passwordFile, systemType, and how many sessions the account may have"
    case .tls: "check tls and caFile"
    case .notConnected: "check host and port"
    default: nil
    }
  }
}
