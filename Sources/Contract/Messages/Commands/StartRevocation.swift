public import CountersignTelemetry

/// Command `revocation.start`: starts the revocation of a Sign in with Apple token.
///
/// The same token twice is one operation, regardless of the message IDs, unless the first one failed.
public struct StartRevocation: Command, Hashable {
  public typealias Reply = OperationStarted
  public static let type = MessageType("revocation.start")

  /// Bundle ID of the user's app.
  public var app: String
  /// Services ID, if Apple issued the token to one rather than to the app.
  public var clientID: String?
  /// Token to revoke. Sealed, its recipient is the app.
  public var token: AppleToken
  /// Redirect URI of the authorization request that yielded the code. Absent if it had none, as in apps.
  public var redirectURI: String?
  /// Subject that an authorization code has to be of. Nothing is revoked for a code of another one. Absent, none is
  /// compared.
  public var subject: String?
  /// Recipient of a mail after the revocation.
  public var notify: Notice?

  public init(
    app: String, clientID: String? = nil, token: AppleToken, redirectURI: String? = nil, notify: Notice? = nil
  ) {
    self.app = app
    self.clientID = clientID
    self.token = token
    self.redirectURI = redirectURI
    self.notify = notify
  }

  /// Mail that tells the user that the account's tokens are revoked.
  public struct Notice: Codable, Sendable, Hashable {
    /// Address, `name@example.com`, without a display name.
    public var email: String
    /// BCP 47. The language of the app if absent.
    public var languageCode: String?
    /// Template of the mail worker. That of the configuration if absent.
    public var template: String?

    public init(email: String, languageCode: String? = nil, template: String? = nil) {
      self.email = email
      self.languageCode = languageCode
      self.template = template
    }
  }
}

extension StartRevocation: Codable {
  private enum CodingKeys: String, CodingKey {
    case app, clientID, redirectURI, subject, notify
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    app = try fields.decode(String.self, forKey: .app)
    clientID = try fields.decodeIfPresent(String.self, forKey: .clientID)
    token = try AppleToken(from: decoder)
    redirectURI = try fields.decodeIfPresent(String.self, forKey: .redirectURI)
    subject = try fields.decodeIfPresent(String.self, forKey: .subject)
    notify = try fields.decodeIfPresent(Notice.self, forKey: .notify)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(app, forKey: .app)
    try fields.encodeIfPresent(clientID, forKey: .clientID)
    try token.encode(to: encoder)
    try fields.encodeIfPresent(redirectURI, forKey: .redirectURI)
    try fields.encodeIfPresent(subject, forKey: .subject)
    try fields.encodeIfPresent(notify, forKey: .notify)
  }
}

/// Reply to `revocation.start` and event `operation.started`: an operation is in progress.
public struct OperationStarted: Event, Hashable {
  public static let type = MessageType("operation.started")

  public var operationID: String
  public var kind: OperationKind
  public var app: String
  public var startedAt: UnixTime
  /// Whether this is the operation of an earlier, equal request.
  public var repeated: Bool

  public init(operationID: String, kind: OperationKind, app: String, startedAt: UnixTime, repeated: Bool) {
    self.operationID = operationID
    self.kind = kind
    self.app = app
    self.startedAt = startedAt
    self.repeated = repeated
  }
}
