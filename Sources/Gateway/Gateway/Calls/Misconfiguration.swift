import CountersignMessages
import CountersignTelemetry
import Synchronization

/// Wrong configuration that a refusal reveals: gateway and services disagree, or are not meant to work together.
enum Misconfiguration: String, Sendable, CaseIterable {
  /// `accounts` cannot open what is sealed to it.
  case seal = "SEAL"
  /// `accounts` has no such project.
  case project = "PROJECT_NOT_FOUND"
  /// The coordinator has no such app, or accounts.
  case app = "UNKNOWN_APP"
  /// The coordinator cannot open the proof of an app, or takes none in the clear.
  case sealingRequired = "SEALING_REQUIRED"
  /// The coordinator does not accept the check of a code, the start for a second factor, or a server's command about a
  /// verification, as `accounts` sends it.
  case check = "CHECK_REFUSED"
  /// The service takes the command from other users of the broker.
  case requester = "NOT_A_REQUESTER"
  /// The coordinator trusts the callers of the app, which HTTP cannot vouch for.
  case trustedApp = "TRUSTED_OVER_HTTP"
  /// The SMS of the app needs variables that only a service's `verification.start` gives.
  case variables = "MISSING_VARIABLE"
  /// The service is not in development mode.
  case development = "DEVELOPMENT_ONLY"
  /// A command of the gateway breaks the contract.
  case command = "INVALID_COMMAND"

  init?(_ error: APIError) {
    if let reason = error.reason, let known = Self(reason: reason) {
      self = known
      return
    }
    switch (error.code, error.field) {
    case (.projectNotFound, _): self = .project
    case (.operationNotAllowed, "user_id"?): self = .requester
    case (.invalidArgument, "app"?): self = .app
    case (.invalidArgument, let field?) where field.hasPrefix("proof."): self = .sealingRequired
    case (.invalidArgument, let field?) where Self.inputs[field] != nil: return nil
    case (.invalidArgument, _): self = .command
    default: return nil
    }
  }

  private init?(reason: String) {
    switch reason {
    case Self.check.rawValue, "START_REFUSED", "VERIFICATION_REFUSED": self = .check
    case Self.trustedApp.rawValue: self = .trustedApp
    case Self.variables.rawValue: self = .variables
    case Self.development.rawValue, "NOT_IN_DEVELOPMENT": self = .development
    case _ where reason.hasPrefix("\(Self.seal.rawValue)_"): self = .seal
    default: return nil
    }
  }

  /// Fields that hold input of clients as it is, with their names in the protocol.
  static let inputs = [
    "secondFactors": "mfaInfo",
    "displayName": "displayName", "photoURL": "photoUrl", "phoneNumber": "phoneNumber", "token": "token",
    "redirectURI": "redirectUri", "email": "email", "password": "password", "localID": "localId",
    "localIDs": "localIds", "customAttributes": "customAttributes", "identities": "providerUserInfo",
    "after": "nextPageToken", "limit": "maxResults", "batch": "users", "passwordHash": "passwordHash",
    "issuer": "issuer", "clients": "clientId", "enrollmentID": "mfaEnrollmentId", "consents": "consents",
    "revokedPurposes": "revokePurposes",
  ]
  /// Those of them that only their length and control characters make wrong.
  static let texts: Set<String> = ["displayName", "photoUrl", "phoneNumber", "token", "redirectUri"]

  /// Whether clients get the service's code nevertheless, since it is the protocol's own.
  var isToldToClient: Bool { self == .trustedApp || self == .development }

  var hint: String {
    switch self {
    case .seal: "give the gateway the public keys of the key file that 'accounts' has ('accountsKeysFile')"
    case .project: "give gateway and accounts the same projectsDirectory"
    case .app:
      "add 'codes' to the project's app, which 'countersign doctor' names, and give gateway, accounts and coordinator the same projectsDirectory"
    case .sealingRequired:
      "give the gateway a 'keysFile' whose key stands in the coordinator's, or set 'requireSealed' of the coordinator to false"
    case .check: "give accounts and coordinator the same 'keysFile', and the coordinator the project's apps"
    case .requester:
      "add the gateway's user of the broker to 'requesters' of the service, and to 'gateways' of the coordinator"
    case .trustedApp: "set 'verification' of the app at the coordinator to push, recaptcha or audit"
    case .variables:
      "give each of the app's 'startVariables' a value in its 'variables' at the coordinator: calls over HTTP give none"
    case .development: "set 'development' of accounts and coordinator to true, too"
    case .command: "run the same version of the gateway and of the service behind it"
    }
  }
}

extension ProtocolError {
  func explained(by problem: Misconfiguration) -> ProtocolError {
    let code = status == 500 ? "INTERNAL_ERROR" : String(message.prefix { $0 != " " })
    return ProtocolError(
      status: status, "\(code) : \(problem.rawValue): \(problem.hint)", word: word, reason: reason,
      retryAfter: retryAfter)
  }
}

/// Log and count of refusals that a wrong configuration causes. Each kind is logged once a minute at most: every client
/// may cause one.
final class MisconfigurationLog: Sendable {
  private static let interval = Duration.seconds(60)

  private let metrics: GatewayMetrics
  private let logger: Logger
  private let clock: any MonotonicClock
  private let loggedAt = Mutex<[Misconfiguration: MonotonicTime]>([:])

  init(metrics: GatewayMetrics, logger: Logger, clock: any MonotonicClock) {
    self.metrics = metrics
    self.logger = logger
    self.clock = clock
  }

  func note(_ problem: Misconfiguration, in command: String, _ error: APIError) {
    metrics.countMisconfigured(problem.rawValue)
    guard isDue(problem) else { return }
    logger.error(
      "gateway and services are configured differently",
      [
        .reason: problem.rawValue, .routingKey: command, .error: "\(error.code): \(error.field ?? "")",
        .hint: problem.hint,
      ])
  }

  private func isDue(_ problem: Misconfiguration) -> Bool {
    let now = clock.now()
    return loggedAt.withLock { times in
      if let last = times[problem], now - last < Self.interval { return false }
      times[problem] = now
      return true
    }
  }
}
