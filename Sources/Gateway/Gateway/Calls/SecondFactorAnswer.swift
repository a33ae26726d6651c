import CountersignMessages
import CountersignTelemetry

extension SecondFactorView {
  /// `MfaEnrollment` of the protocol. SDKs tell the kinds apart by its fields.
  var enrollment: CallAnswer {
    var enrollment = CallAnswer()
    enrollment.put("mfaEnrollmentId", enrollmentID)
    enrollment.put("displayName", displayName)
    enrollment.put("enrolledAt", enrolledAt.rfc3339WithMilliseconds)
    enrollment.put("phoneInfo", phoneNumber)
    enrollment.put("totpInfo", object: kind == .totp ? CallAnswer() : nil)
    return enrollment
  }
}
