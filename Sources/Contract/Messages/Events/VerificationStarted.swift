public import CountersignTelemetry

/// A verification lives: the reply to `verification.start` and the event `verification.started`.
public struct VerificationStarted: Event, Hashable {
  public static let type = MessageType("verification.started")

  public var verificationID: String
  public var app: String
  /// E.164, also when the command had a national number.
  public var phoneNumber: String
  /// Digits of the code.
  public var codeLength: Int
  /// When the code stops being valid.
  public var expiresAt: UnixTime
  /// After how many seconds asking again sends the code again; 0 when it would now. A limit that forbids it makes it longer.
  public var resendAfter: Int
  /// Whether the verification lived already and this request sent its code again.
  public var resent: Bool
  /// Whether it is one of the app's fictional numbers, which get no message.
  public var testNumber: Bool
  /// Absent where it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, codeLength: Int, expiresAt: UnixTime, resendAfter: Int,
    resent: Bool, testNumber: Bool, purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.codeLength = codeLength
    self.expiresAt = expiresAt
    self.resendAfter = resendAfter
    self.resent = resent
    self.testNumber = testNumber
    self.purpose = purpose
  }
}

extension VerificationStarted {
  /// The body in JSON, written without the encoder; see ``JSONObjectWriter``.
  package var fastJSON: [UInt8] {
    var text = JSONObjectWriter()
    text.put("verificationID", verificationID)
    text.put("app", app)
    text.put("phoneNumber", phoneNumber)
    text.put("codeLength", codeLength)
    text.put("expiresAt", expiresAt)
    text.put("resendAfter", resendAfter)
    text.put("resent", resent)
    text.put("testNumber", testNumber)
    text.put("purpose", purpose?.rawValue)
    return text.finished()
  }
}
