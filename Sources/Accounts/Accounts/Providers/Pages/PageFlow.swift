import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Sign-in at the page of a provider, from its begin to the answer of the page. It is kept nowhere: `state` has it,
/// sealed under the token keys.
struct PageFlow: Sendable, Hashable {
  /// Time for which an answer of the page is taken.
  static let lifetime = Duration.seconds(3600)

  let project: String
  /// `oidc.example`.
  let provider: String
  let app: String?
  /// Client of the project at the provider.
  let clientID: String
  let redirectURI: String
  /// SHA-256 of the session ID, in hexadecimal.
  let sessionHash: String
  /// Nonce that the ID token has to have, where there is one.
  let nonce: String
  /// PKCE's secret (RFC 7636, section 4.1).
  let verifier: String
  let beganAt: UnixTime
}

extension PageFlow: FieldCoded {
  init(_ fields: inout FieldCoder, _ flow: Self?) throws(UnreadableFields) {
    project = try fields.required(1, flow?.project)
    provider = try fields.required(2, flow?.provider)
    app = fields.optional(3, flow?.app)
    clientID = try fields.required(4, flow?.clientID)
    redirectURI = try fields.required(5, flow?.redirectURI)
    sessionHash = try fields.required(6, flow?.sessionHash)
    nonce = try fields.required(7, flow?.nonce)
    verifier = try fields.required(8, flow?.verifier)
    beganAt = try fields.required(9, flow?.beganAt)
  }
}
