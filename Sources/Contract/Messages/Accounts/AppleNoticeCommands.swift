public import CountersignTelemetry

/// Command `account.noteApple`: passes a notification of Apple's on, whose signature accounts checks.
public struct NoteApple: Command {
  public typealias Reply = AppleNoted
  public static let type = MessageType("account.noteApple")

  public var project: String
  /// The JWS, up to 16 KiB.
  public var payload: SecretField

  public init(project: String, payload: SecretField) {
    self.project = project
    self.payload = payload
  }
}

/// Reply to `account.noteApple`: it is stored, or was before.
public struct AppleNoted: MessageBody, Hashable {
  public static let type = MessageType("account.appleNoted")

  /// Whether it came before.
  public var isRepeated: Bool

  public init(isRepeated: Bool) {
    self.isRepeated = isRepeated
  }
}

/// Event `account.appleNotified`: Apple has told something about a user.
public struct AppleNotified: Event, Hashable {
  public static let type = MessageType("account.appleNotified")

  public var project: String
  /// Absent where no account has the subject.
  public var localID: String?
  public var subject: String
  /// `email-disabled`, `email-enabled`, `consent-revoked`, `account-deleted`. More words may be added.
  public var kind: String
  /// Time at Apple.
  public var happenedAt: UnixTime
  public var effect: Effect

  public init(project: String, subject: String, kind: String, happenedAt: UnixTime, effect: Effect) {
    self.project = project
    self.subject = subject
    self.kind = kind
    self.happenedAt = happenedAt
    self.effect = effect
  }

  /// Effect on the account. More words may be added.
  public struct Effect: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Nothing: no account has the subject, it has signed in since, or the word is old, of another address or unknown.
    public static let none = Effect(rawValue: "none")
    /// The relay address takes no mail.
    public static let mailOff = Effect(rawValue: "mailOff")
    /// The relay address takes mail again.
    public static let mailOn = Effect(rawValue: "mailOn")
    /// The identity was unlinked, and the sessions that it began have ended.
    public static let unlinked = Effect(rawValue: "unlinked")
    /// The account was deleted: the identity was its last way in, and the project has such accounts deleted.
    public static let deleted = Effect(rawValue: "deleted")

    public static let known: [Effect] = [.none, .mailOff, .mailOn, .unlinked, .deleted]
  }
}
