/// Command `account.signInWithIdp`: signs in with a credential of an identity provider. With an ID token, links the
/// identity to its account.
public struct SignInWithIDP: SecretReplyCommand {
  public typealias Reply = AccountSignedIn
  public static let type = MessageType("account.signInWithIdp")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String?
  /// ``IDPCredential`` as JSON.
  public var credential: SecretField
  /// ID token of a signed-in user.
  public var idToken: SecretField?
  /// Whether an unknown identity gets a new account. Absent, it does.
  public var autoCreate: Bool?
  /// Whether a refused link is answered with the credential rather than with an error.
  public var returnIDPCredential: Bool?
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, credential: SecretField, replyKey: String) {
    self.project = project
    self.credential = credential
    self.replyKey = replyKey
  }
}

/// Credential of an identity provider, as the app got it. Its fields are those of `postBody`.
public struct IDPCredential: SealedText, Hashable {
  /// `apple.com`, `google.com`, `facebook.com`, `oidc.example`. What a page brings names it by its state.
  public var providerID: String?
  public var idToken: String?
  public var accessToken: String?
  /// The raw nonce.
  public var nonce: String?
  /// JSON text that Apple gives the app once: `{"name": {"firstName", "lastName"}}`.
  public var user: String?
  /// Token of an earlier answer, in place of a credential that counts once. It alone counts where it is there.
  public var pendingToken: String?
  /// Authorization code that the provider's page gave.
  public var code: String?
  /// State of the page's flow, as ``IDPSignInStarted`` put it into the address.
  public var state: String?
  /// Issuer that the page names beside the code (RFC 9207).
  public var issuer: String?
  /// Address that the provider has led back to, without query and fragment.
  public var redirectURI: String?
  /// Session ID whose hash began the flow.
  public var sessionID: String?

  public init(providerID: String? = nil) {
    self.providerID = providerID
  }
}

/// Outcome of a credential beside the tokens: what the provider says of the user.
public struct SignedInIdentity: SealedText, Hashable {
  public var providerID: String
  /// The provider's subject.
  public var federatedID: String
  public var email: String?
  public var emailVerified: Bool?
  public var displayName: String?
  public var fullName: String?
  public var photoURL: String?
  /// The profile, as JSON text.
  public var rawUserInfo: String?
  public var oauthIDToken: String?
  public var oauthAccessToken: String?
  /// Seconds of the access token's validity.
  public var oauthExpiresIn: Int?

  public init(providerID: String, federatedID: String) {
    self.providerID = providerID
    self.federatedID = federatedID
  }
}

/// Command `account.revokeToken`: revokes a token of Sign in with Apple of an ID token's account.
public struct RevokeToken: Command {
  public typealias Reply = TokenRevoked
  public static let type = MessageType("account.revokeToken")

  public var project: String
  /// ID of the app at the coordinator: the bundle ID that Apple issued the token to, or an app of the web.
  public var app: String?
  public var idToken: SecretField
  /// `apple.com`.
  public var providerID: String
  public var tokenType: AppleToken.Kind
  public var token: SecretField
  /// Redirect URI of the authorization request that yielded the code. Absent if it had none, as in apps.
  public var redirectURI: String?

  public init(
    project: String, idToken: SecretField, providerID: String, tokenType: AppleToken.Kind, token: SecretField
  ) {
    self.project = project
    self.idToken = idToken
    self.providerID = providerID
    self.tokenType = tokenType
    self.token = token
  }
}

/// Reply to `account.revokeToken`: the token is revoked.
public struct TokenRevoked: MessageBody, Hashable {
  public static let type = MessageType("account.tokenRevoked")

  public var localID: String
  /// The operation of the revocation.
  public var operationID: String

  public init(localID: String, operationID: String) {
    self.localID = localID
    self.operationID = operationID
  }
}
