/// Command `account.startIdp`: begins a sign-in at the page of an identity provider. The gateway's pages, and
/// `createAuthUri`, lead a browser to the address that it answers with.
public struct StartIDPSignIn: SecretReplyCommand {
  public typealias Reply = IDPSignInStarted
  public static let type = MessageType("account.startIdp")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String?
  /// `apple.com`, `oidc.example`.
  public var providerID: String
  /// Address that the provider leads back to, without query and fragment.
  public var redirectURI: String
  /// ``PageRequest`` as JSON.
  public var request: SecretField
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, providerID: String, redirectURI: String, request: SecretField, replyKey: String) {
    self.project = project
    self.providerID = providerID
    self.redirectURI = redirectURI
    self.request = request
    self.replyKey = replyKey
  }
}

/// Request of an app to a provider's page.
public struct PageRequest: SealedText, Hashable {
  /// SHA-256 of the session ID, which the app brings with the answer of the page, as 64 small hexadecimal digits.
  public var sessionHash: String
  /// Scopes beside the configured ones.
  public var scopes: [String]?
  /// Parameters of the provider's page, such as `login_hint`. Reserved ones are dropped.
  public var parameters: [String: String]?

  public init(sessionHash: String) {
    self.sessionHash = sessionHash
  }
}

/// Reply to `account.startIdp`.
public struct IDPSignInStarted: MessageBody, Hashable {
  public static let type = MessageType("account.idpStarted")

  /// Address of the provider's page, with the state in it.
  public var authURI: SecretField

  public init(authURI: SecretField) {
    self.authURI = authURI
  }
}
