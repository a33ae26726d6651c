public import CountersignTelemetry

/// Consent that a user has given to the app.
public struct Consent: Codable, Sendable, Hashable {
  /// Word of the app, up to 64 bytes. That of linking is ``linking``.
  public var purpose: String
  /// Version of the text that the user has read, up to 64 bytes.
  public var textVersion: String
  /// Data that it is about, up to 16 words of 64 bytes. Of linking: `phone`, `email`, `secondFactor`, IDs of providers.
  public var data: [String]
  /// Time at which the user gave it.
  public var givenAt: UnixTime

  /// Purpose of the consent that linking an Apple account to other data may need.
  public static let linking = "linking"

  public init(purpose: String, textVersion: String, data: [String], givenAt: UnixTime) {
    self.purpose = purpose
    self.textVersion = textVersion
    self.data = data
    self.givenAt = givenAt
  }
}

/// A consent as it is recorded.
public struct ConsentView: Codable, Sendable, Hashable {
  public var purpose: String
  public var textVersion: String
  public var data: [String]
  public var givenAt: UnixTime
  public var recordedAt: UnixTime
  /// Absent while it is in force.
  public var revokedAt: UnixTime?

  public init(_ consent: Consent, recordedAt: UnixTime) {
    purpose = consent.purpose
    textVersion = consent.textVersion
    data = consent.data
    givenAt = consent.givenAt
    self.recordedAt = recordedAt
  }
}

/// Command `account.recordConsent`: records consents of an account, or revokes them.
public struct RecordConsent: Command {
  public typealias Reply = ConsentsRecorded
  public static let type = MessageType("account.recordConsent")

  public var project: String
  /// ID token of the user. Or ``bearer`` with ``localID``.
  public var idToken: SecretField?
  /// Access token of an administrator, who may only revoke.
  public var bearer: SecretField?
  /// Account, of an administrator's command.
  public var localID: String?
  /// Consents to record, up to 16. One takes the place of an earlier one of its purpose.
  public var consents: [Consent]?
  /// Purposes whose consent is revoked, up to 16.
  public var revokedPurposes: [String]?

  public init(project: String) {
    self.project = project
  }
}

/// Reply to `account.recordConsent`.
public struct ConsentsRecorded: MessageBody, Hashable {
  public static let type = MessageType("account.consentsRecorded")

  /// All consents of the account, revoked ones included.
  public var consents: [ConsentView]

  public init(consents: [ConsentView]) {
    self.consents = consents
  }
}

/// Event `account.consentChanged`: a consent was given or revoked.
public struct ConsentChanged: Event, Hashable {
  public static let type = MessageType("account.consentChanged")

  public var project: String
  public var localID: String
  public var purpose: String
  public var textVersion: String
  public var isGiven: Bool
  public var changedAt: UnixTime

  public init(
    project: String, localID: String, purpose: String, textVersion: String, isGiven: Bool, changedAt: UnixTime
  ) {
    self.project = project
    self.localID = localID
    self.purpose = purpose
    self.textVersion = textVersion
    self.isGiven = isGiven
    self.changedAt = changedAt
  }
}
