public import CountersignTelemetry

/// Command `verification.find`: finds the verifications of a phone number, of every app, live and ended ones.
///
/// A command of operators, see ``ListConversions``. It changes nothing, so it is not on record.
public struct FindVerifications: Command, Hashable {
  public typealias Reply = VerificationsFound
  public static let type = MessageType("verification.find")

  /// E.164.
  public var phoneNumber: String
  /// Verifications that began before this time are left out. Absent, none is.
  public var since: UnixTime?
  /// ``VerificationsFound/next`` of the page before.
  public var after: String?

  public init(phoneNumber: String, since: UnixTime? = nil, after: String? = nil) {
    self.phoneNumber = phoneNumber
    self.since = since
    self.after = after
  }
}

/// Reply to `verification.find`: the verifications of a number. It repeats neither the number nor a code.
///
/// A number has more than one page only if it is a fictional one, or if records are kept for long. Pages are in no
/// order: read all of them to find the latest.
public struct VerificationsFound: MessageBody, Hashable {
  public static let type = MessageType("verification.found")

  /// Latest first. Empty for a page without any that began in time.
  public var verifications: [Verification]
  /// Time for which an ended verification is kept. Seconds.
  public var retentionSeconds: Int
  /// Place to go on from, opaque. Absent after the last page.
  public var next: String?

  public init(verifications: [Verification], retentionSeconds: Int, next: String? = nil) {
    self.verifications = verifications
    self.retentionSeconds = retentionSeconds
    self.next = next
  }

  /// A verification as the requester has it to whom its ID was given. Several requesters of one code have one each.
  public struct Verification: Codable, Sendable, Hashable {
    /// Key for ``GetVerificationStatus``, which tells the rest.
    public var verificationID: String
    public var app: String
    /// Absent if it is ``VerificationPurpose/signIn``.
    public var purpose: VerificationPurpose?
    public var state: VerificationStatus.State
    /// Reason of a failed verification, upper case with underscores.
    public var reason: String?
    public var startedAt: UnixTime
    /// Whether the number is fictional: no SMS is sent.
    public var testNumber: Bool
    /// Latest step of its SMS, without ``VerificationStatus/Entry/detail``, in which a provider may name the number.
    /// Absent if the requester has asked for none.
    public var sms: VerificationStatus.Entry?

    /// Creates a verification. Properties that few have are set afterwards.
    public init(
      verificationID: String, app: String, state: VerificationStatus.State, startedAt: UnixTime, testNumber: Bool
    ) {
      self.verificationID = verificationID
      self.app = app
      self.state = state
      self.startedAt = startedAt
      self.testNumber = testNumber
    }
  }
}
