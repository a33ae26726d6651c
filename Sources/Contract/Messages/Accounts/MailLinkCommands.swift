/// Purpose of the link in a mail.
public enum MailLinkPurpose: String, ContractWord {
  case signIn, verifyAddress, resetPassword, changeAddress
  /// Takes a change of the address back, from the old one.
  case recoverAddress
  /// Takes a new second factor back.
  case revertSecondFactor
}

/// Command `account.sendMailLink`: mails a link to an address, or gives it to an administrator.
public struct SendMailLink: SecretReplyCommand {
  public typealias Reply = MailLinkSent
  public static let type = MessageType("account.sendMailLink")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String?
  public var purpose: MailLinkPurpose
  /// ``MailLinkAddresses`` as JSON.
  public var addresses: SecretField
  /// ID token of a signed-in user: for verification and change.
  public var idToken: SecretField?
  /// Access token of an administrator, in place of the ID token.
  public var bearer: SecretField?
  /// Page to go on to.
  public var continueURL: String?
  /// Whether the app opens the link itself: its parameters are then those of ``continueURL``.
  public var opensInApp: Bool?
  /// App to open the link in.
  public var bundleID: String?
  /// Host of the link, one of the project's.
  public var linkDomain: String?
  /// BCP 47.
  public var languageCode: String?
  /// Whether the link is in the reply rather than in a mail. For administrators.
  public var returnsLink: Bool?
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, purpose: MailLinkPurpose, addresses: SecretField, replyKey: String) {
    self.project = project
    self.purpose = purpose
    self.addresses = addresses
    self.replyKey = replyKey
  }
}

/// Addresses that a link is about.
public struct MailLinkAddresses: SealedText, Hashable {
  /// The present one.
  public var email: String?
  public var newEmail: String?

  public init(email: String? = nil, newEmail: String? = nil) {
    self.email = email
    self.newEmail = newEmail
  }
}

/// Reply to `account.sendMailLink`.
public struct MailLinkSent: MessageBody, Hashable {
  public static let type = MessageType("account.mailLinkSent")

  /// Address that the link was sent to, or would have been.
  public var email: String
  /// ``MailLink`` as JSON, for administrators that ask for it.
  public var link: SecretField?

  public init(email: String) {
    self.email = email
  }
}

/// A link of a mail.
public struct MailLink: SealedText, Hashable {
  public var code: String
  public var url: String

  public init(code: String, url: String) {
    self.code = code
    self.url = url
  }
}

/// Command `account.applyMailLink`: does what the code of a link stands for, once, or tells what that is.
public struct ApplyMailLink: Command {
  public typealias Reply = MailLinkApplied
  public static let type = MessageType("account.applyMailLink")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String?
  public var code: SecretField
  /// For a link that resets the password.
  public var newPassword: SecretField?
  /// Whether the code is only looked at, and stays good.
  public var isLook: Bool?
  public var client: StartVerification.Client?

  public init(project: String, code: SecretField) {
    self.project = project
    self.code = code
  }
}

/// Reply to `account.applyMailLink`.
public struct MailLinkApplied: MessageBody, Hashable {
  public static let type = MessageType("account.mailLinkApplied")

  public var purpose: MailLinkPurpose
  public var email: String
  public var newEmail: String?
  /// The second factor of a link that takes it back, its number masked.
  public var secondFactor: SecondFactorView?
  /// Absent for a look, and for a link that signs in.
  public var localID: String?

  public init(purpose: MailLinkPurpose, email: String) {
    self.purpose = purpose
    self.email = email
  }
}

/// Command `account.signInWithMailLink`: signs in with the code of a link. With an ID token, adds the address to its
/// account.
public struct SignInWithMailLink: SecretReplyCommand {
  public typealias Reply = AccountSignedIn
  public static let type = MessageType("account.signInWithMailLink")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String?
  /// ``MailLinkCredential`` as JSON.
  public var credential: SecretField
  /// ID token of a signed-in user.
  public var idToken: SecretField?
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, credential: SecretField, replyKey: String) {
    self.project = project
    self.credential = credential
    self.replyKey = replyKey
  }
}

/// Code of a link that signs in, with the address that the user says it was sent to.
public struct MailLinkCredential: SealedText, Hashable {
  public var email: String?
  public var code: String?

  public init(email: String? = nil, code: String? = nil) {
    self.email = email
    self.code = code
  }
}
