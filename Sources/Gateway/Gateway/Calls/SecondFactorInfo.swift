import CountersignMessages
import CountersignTelemetry

/// Second factor as answers show it, `MfaEnrollment` in Google's reference of Identity Toolkit.
enum MFAInfo {
  static func entry(_ factor: SecondFactorView) -> CallAnswer {
    var entry = CallAnswer()
    entry.put("mfaEnrollmentId", factor.enrollmentID)
    entry.put("displayName", factor.displayName)
    entry.put("enrolledAt", factor.enrolledAt.rfc3339)
    switch factor.kind {
    case .phone: entry.put("phoneInfo", factor.phoneNumber)
    case .totp: entry.put("totpInfo", object: CallAnswer())
    }
    return entry
  }
}
