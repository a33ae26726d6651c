/// Address and password of a user, as the app sent them.
public struct PasswordCredential: SealedText, Hashable {
  public var email: String?
  public var password: String?
  public var displayName: String?

  public init(email: String? = nil, password: String? = nil) {
    self.email = email
    self.password = password
  }
}

/// Command `account.signInWithPassword`: signs in with address and password.
public struct SignInWithPassword: SecretReplyCommand {
  public typealias Reply = AccountSignedIn
  public static let type = MessageType("account.signInWithPassword")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String?
  /// ``PasswordCredential`` as JSON.
  public var credential: SecretField
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, credential: SecretField, replyKey: String) {
    self.project = project
    self.credential = credential
    self.replyKey = replyKey
  }
}

/// Command `account.signInWithCustomToken`: signs in with a token that a service account has signed.
public struct SignInWithCustomToken: SecretReplyCommand {
  public typealias Reply = AccountSignedIn
  public static let type = MessageType("account.signInWithCustomToken")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String?
  public var token: SecretField
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, token: SecretField, replyKey: String) {
    self.project = project
    self.token = token
    self.replyKey = replyKey
  }
}

/// Command `account.findMethods`: the ways to sign in of an address.
public struct FindMethods: Command {
  public typealias Reply = MethodsFound
  public static let type = MessageType("account.findMethods")

  public var project: String
  /// ``PasswordCredential`` with the address alone, as JSON.
  public var credential: SecretField
  public var client: StartVerification.Client?

  public init(project: String, credential: SecretField) {
    self.project = project
    self.credential = credential
  }
}

/// Reply to `account.findMethods`.
public struct MethodsFound: MessageBody, Hashable {
  public static let type = MessageType("account.methodsFound")

  /// Whether an account has the address. Absent, with the methods, where the project protects addresses.
  public var isRegistered: Bool?
  /// `password`, `emailLink`, and IDs of providers.
  public var methods: [String]?

  public init(isRegistered: Bool? = nil, methods: [String]? = nil) {
    self.isRegistered = isRegistered
    self.methods = methods
  }
}
