import CountersignMessages
import CountersignTelemetry

extension UserSecondFactor {
  /// Second factors of a user that an administrator writes: `mfaInfo` of a new user and of an import,
  /// `mfa.enrollments` of a change. Both replace those that the account has. An empty `mfa` takes all away: Google's
  /// Admin SDK sends that.
  ///
  /// - Returns: `nil` without either, when those of the account stay.
  static func list(of body: CallBody) throws(ProtocolError) -> [UserSecondFactor]? {
    let entries: [CallBody]
    if let mfa = try body.object("mfa") {
      entries = try mfa.objects("enrollments")
    } else {
      guard body.has("mfaInfo") else { return nil }
      entries = try body.objects("mfaInfo")
    }
    return try entries.map { entry throws(ProtocolError) in try UserSecondFactor(entry) }
  }

  private init(_ body: CallBody) throws(ProtocolError) {
    if body.has("emailInfo") { throw .notOffered(part: "An address as second factor") }
    self.init(
      enrollmentID: try body.word("mfaEnrollmentId", else: "INVALID_MFA_ENROLLMENT_ID"),
      phoneNumber: try body.secret("phoneInfo", else: "INVALID_PHONE_NUMBER"))
    displayName = try body.text("displayName")
    guard let text = try body.text("enrolledAt") else { return }
    guard let time = UnixTime(rfc3339: text) else {
      throw .badField("enrolledAt", expected: "a time as in RFC 3339")
    }
    enrolledAt = time
  }
}
