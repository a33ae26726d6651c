import CountersignMessages
import CountersignTelemetry

extension SecondFactorView {
  /// The factor as answers show it, `MfaEnrollment` in Google's reference of Identity Toolkit.
  var enrollment: CallAnswer {
    var enrollment = CallAnswer()
    enrollment.put("mfaEnrollmentId", enrollmentID)
    enrollment.put("displayName", displayName)
    enrollment.put("enrolledAt", enrolledAt.rfc3339WithMilliseconds)
    switch kind {
    case .phone: enrollment.put("phoneInfo", phoneNumber)
    case .totp: enrollment.put("totpInfo", object: CallAnswer())
    }
    return enrollment
  }
}
