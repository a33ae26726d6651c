public import CountersignTelemetry

/// Job `apple.revoke`: revokes the tokens of a Sign in with Apple.
public struct AppleRevokeJob: Job, Hashable {
  public static let type = MessageType("apple.revoke")
  /// Longest ``subject``, in bytes.
  public static let maxSubjectBytes = 255

  /// Bundle ID of the user's app.
  public var app: String
  /// Services ID, if Apple issued the token to one rather than to the app.
  public var clientID: String?
  /// Token to revoke.
  public var token: AppleToken
  /// Redirect URI of the authorization request that yielded the code. Absent if it had none, as in apps.
  public var redirectURI: String?
  /// Subject that an authorization code has to be of: the worker compares after the exchange and before the revocation.
  /// Absent, none is compared.
  public var subject: String?
  /// Latest time to start. A token that a code was exchanged for by then is revoked even later.
  public var deadline: UnixTime

  public init(
    app: String, clientID: String? = nil, token: AppleToken, redirectURI: String? = nil, deadline: UnixTime
  ) {
    self.app = app
    self.clientID = clientID
    self.token = token
    self.redirectURI = redirectURI
    self.deadline = deadline
  }
}

extension AppleRevokeJob: Codable {
  private enum CodingKeys: String, CodingKey {
    case app, clientID, redirectURI, subject, deadline
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    app = try fields.decode(String.self, forKey: .app)
    clientID = try fields.decodeIfPresent(String.self, forKey: .clientID)
    token = try AppleToken(from: decoder)
    redirectURI = try fields.decodeIfPresent(String.self, forKey: .redirectURI)
    subject = try fields.decodeIfPresent(String.self, forKey: .subject)
    deadline = try fields.decode(UnixTime.self, forKey: .deadline)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(app, forKey: .app)
    try fields.encodeIfPresent(clientID, forKey: .clientID)
    try token.encode(to: encoder)
    try fields.encodeIfPresent(redirectURI, forKey: .redirectURI)
    try fields.encodeIfPresent(subject, forKey: .subject)
    try fields.encode(deadline, forKey: .deadline)
  }
}
