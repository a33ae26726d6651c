/// Asks for a Sign in with Apple token to be revoked: `revocation.start`.
///
/// The same token twice is one operation, whatever the message IDs are, unless the first one has failed.
public struct StartRevocation: Command, Hashable {
  public typealias Reply = OperationStarted
  public static let type = MessageType("revocation.start")

  /// The app whose user it is: its bundle ID.
  public var app: String
  /// To whom Apple gave the token, when it is not the app itself: a Services ID.
  public var clientID: String?
  /// What is revoked. Sealed, its recipient is the app.
  public var token: AppleToken
  /// The redirect URI of the authorization request that yielded the code; absent when it had none, as in apps.
  public var redirectURI: String?
  /// Who is told by mail when it is done.
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

  /// A mail that tells the user that the account's tokens are revoked.
  public struct Notice: Codable, Sendable, Hashable {
    /// The address, `name@example.com`, without a display name.
    public var email: String
    /// BCP 47; that of the app if absent.
    public var languageCode: String?
    /// The mail worker's template; that of the configuration if absent.
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
    case app, clientID, redirectURI, notify
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    app = try fields.decode(String.self, forKey: .app)
    clientID = try fields.decodeIfPresent(String.self, forKey: .clientID)
    token = try AppleToken(from: decoder)
    redirectURI = try fields.decodeIfPresent(String.self, forKey: .redirectURI)
    notify = try fields.decodeIfPresent(Notice.self, forKey: .notify)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(app, forKey: .app)
    try fields.encodeIfPresent(clientID, forKey: .clientID)
    try token.encode(to: encoder)
    try fields.encodeIfPresent(redirectURI, forKey: .redirectURI)
    try fields.encodeIfPresent(notify, forKey: .notify)
  }
}
