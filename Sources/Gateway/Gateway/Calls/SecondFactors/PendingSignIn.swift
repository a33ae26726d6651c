import CountersignMessages
import CountersignTelemetry

/// First factor that suffices together with a second one: what a call that signs in answers in place of tokens.
struct PendingSignIn: Sendable {
  fileprivate let localID: String
  fileprivate let credential: Secret
  fileprivate let factors: [SecondFactorView]
}

extension CommandExchange where C.Reply == AccountSignedIn {
  /// - Returns: `nil` where no second factor is asked for.
  func pendingSignIn(of reply: AccountSignedIn) throws(ProtocolError) -> PendingSignIn? {
    guard let credential = reply.pendingCredential else { return nil }
    guard let localID = reply.localID, let factors = reply.secondFactors, !factors.isEmpty else {
      throw .internalError
    }
    return PendingSignIn(localID: localID, credential: try open(credential), factors: factors)
  }
}

extension CallAnswer {
  /// The JavaScript SDK adds the tokens of the second factor to this answer: it is the answer to the sign-in then.
  mutating func put(_ pending: PendingSignIn) {
    put("localId", pending.localID)
    put("mfaPendingCredential", pending.credential.reveal())
    put("mfaInfo", objects: pending.factors.map(\.enrollment))
  }
}

extension SecondFactorView {
  /// The factor as answers show it. The JavaScript SDK fails unless it has `phoneInfo` or `totpInfo`.
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
