import CountersignTelemetry
import Projects

/// OpenID Connect provider of a project, with the secrets of its clients.
struct OpenIDConfiguration: Sendable {
  struct Client: Sendable {
    let id: String
    /// `nil` for any.
    var platform: ProjectApp.Platform?
    var secret: Secret?
  }

  /// `oidc.example`.
  let id: String
  var displayName: String?
  /// Whether it is on, for signing in and for linking.
  var isEnabled: Bool
  /// Exactly as ID tokens have it.
  var issuer: String
  /// One at least.
  var clients: [Client]
  var usesCodeFlow = true
  /// Beside `openid`.
  var scopes: [String] = []
  var parameters: [String: String] = [:]
  /// Whether an address that it calls verified is believed. Providers that administrators set never are, so records do
  /// not have it.
  var trustsEmail = false
}
