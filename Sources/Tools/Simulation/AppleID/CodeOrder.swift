import CountersignTelemetry

/// The body of `POST /control/apple/codes`: an authorization code is to be issued, as after somebody signed in.
struct CodeOrder: ControlOrder {
  static let fields: Set<String> = ["clientID", "redirectURI", "lifetimeSeconds", "error"]

  private let clientID: String
  private let redirectURI: String?
  private let lifetimeSeconds: Double?
  private let error: String?

  func code(clients: Set<String>, now: UnixTime) throws(ControlProblem) -> AuthorizationCode {
    guard clients.contains(clientID) else { throw ControlProblem("clientID is none that the simulator knows") }
    if let error, !AppleIDError.names.contains(error) {
      throw ControlProblem("error must be one of \(AppleIDError.names.sorted().joined(separator: ", "))")
    }
    let lifetime = try Self.within(lifetimeSeconds, 0...86_400, "lifetimeSeconds")
    let lasting = lifetime.map { Duration.milliseconds(Int64($0 * 1_000)) } ?? AuthorizationCode.lifetime
    return AuthorizationCode(clientID: clientID, redirectURI: redirectURI, expiresAt: now + lasting, error: error)
  }
}
