import CountersignMessages
import CountersignTelemetry
import Projects

/// Service that proves who a user is.
protocol IdentityProvider: Sendable {
  /// `apple.com`: its name in commands, tokens and projects.
  var id: String { get }

  /// Verifies a credential. Suspends while keys or a profile are fetched, so it runs in the stage of a command.
  ///
  /// - Throws: `INVALID_IDP_RESPONSE`, `MISSING_OR_INVALID_NONCE`, or `INTERNAL_ERROR` with a time to try again.
  func verify(
    _ credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity
}

/// The identity providers of a process: those of its own by their ID, and the issuers of projects.
struct IdentityProviders: Sendable {
  private let all: [String: any IdentityProvider]
  /// `nil` without providers of projects.
  private let issuers: OpenIDIssuers?

  init(_ providers: [any IdentityProvider], _ issuers: OpenIDIssuers? = nil) {
    all = Dictionary(providers.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    self.issuers = issuers
  }

  subscript(id: String) -> (any IdentityProvider)? { all[id] }

  func provider(_ configuration: OpenIDConfiguration) -> (any PageProvider)? {
    issuers.map { OpenIDProvider(configuration: configuration, issuers: $0) }
  }
}
