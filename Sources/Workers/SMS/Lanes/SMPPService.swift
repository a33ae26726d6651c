import CountersignTelemetry
import SMPP
public import ServiceRuntime

/// Keeps the session of an SMPP lane up as long as the process runs.
public struct SMPPService: Service {
  public let name: String
  private let session: SMPPSession

  init(lane: String, session: SMPPSession) {
    self.name = "smpp.\(lane)"
    self.session = session
  }

  /// How long the server may take to answer to what is under way when the process stops. The jobs have ended by then.
  private static let ceiling: Duration = .seconds(2)

  public func run() async { await session.run() }

  public func stop() async { session.stop(ceiling: Self.ceiling) }
}

/// Logs what happens to a session, with what an operator can do.
struct SMPPEventLog: Sendable {
  let log: Logger
  let lane: String

  func write(_ event: SMPPEvent) {
    switch event {
    case .bound: log.info("bound to the SMPP server", [.lane: lane])
    case .disconnected(let error, let retryIn):
      let level: LogLevel = if case .bindRefused = error.kind { .error } else { .warning }
      log.log(
        level, "no session with the SMPP server; trying again",
        [.lane: lane, .error: error.description, .hint: Self.advice(error), .retryIn: retryIn])
    case .paused(let pause):
      log.warning("the SMPP server asks for fewer messages; the lane pauses", [.lane: lane, .duration: pause])
    case .stopped: log.info("session with the SMPP server closed", [.lane: lane])
    }
  }

  private static func advice(_ error: SMPPError) -> String? {
    switch error.kind {
    case .bindRefused: "check systemID, passwordFile, systemType, and how many sessions the account may have"
    case .tls: "check tls and caFile"
    case .notConnected: "check host and port"
    default: nil
    }
  }
}
