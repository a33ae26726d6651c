/// A command of an administrator or an operator.
public protocol AdministratorCommand: Command {
  var project: String { get }
  /// Access token of a service account. Absent in commands of the broker's operators, who need none.
  var bearer: SecretField? { get }
}

/// Command `session.createCookie`, for administrators: a session cookie for an ID token.
public struct CreateSessionCookie: SecretReplyCommand, AdministratorCommand {
  public typealias Reply = SessionCookieCreated
  public static let type = MessageType("session.createCookie")

  public var project: String
  public var bearer: SecretField?
  public var idToken: SecretField
  /// Seconds: 300 to 1,209,600.
  public var validFor: Int
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, idToken: SecretField, validFor: Int, replyKey: String) {
    self.project = project
    self.idToken = idToken
    self.validFor = validFor
    self.replyKey = replyKey
  }
}

/// Reply to `session.createCookie`.
public struct SessionCookieCreated: MessageBody, Hashable {
  public static let type = MessageType("session.cookieCreated")

  public var cookie: SecretField

  public init(cookie: SecretField) {
    self.cookie = cookie
  }
}

/// Command `account.settings`, for administrators: settings of a project. It changes those that it names.
public struct ProjectSettingsCommand: AdministratorCommand {
  public typealias Reply = ProjectSettingsFound
  public static let type = MessageType("account.settings")

  public var project: String
  public var bearer: SecretField?
  /// Whether several accounts may have an address, those of providers.
  public var allowsDuplicateEmails: Bool?
  /// Whether answers conceal that an account has an address.
  public var protectsAddresses: Bool?

  public init(project: String) {
    self.project = project
  }
}

/// Reply to `account.settings`: those that hold.
public struct ProjectSettingsFound: MessageBody, Hashable {
  public static let type = MessageType("account.settingsFound")

  public var allowsDuplicateEmails: Bool
  public var protectsAddresses: Bool

  public init(allowsDuplicateEmails: Bool, protectsAddresses: Bool) {
    self.allowsDuplicateEmails = allowsDuplicateEmails
    self.protectsAddresses = protectsAddresses
  }
}
