import CountersignMessages
import CountersignTelemetry

/// A verification together with the handle that the command names.
struct AskedVerification: Sendable, Hashable {
  var verification: PhoneVerification
  var handle = PhoneVerification.firstHandle
  /// Time for which a limit forbids sending the code again.
  var wait: Duration?

  /// The verification's ID for the requester.
  var id: String { verification.id(of: handle) }
}

extension VerificationStarted {
  init(_ asked: AskedVerification, codeLength: Int, resent: Bool, at now: UnixTime) {
    let verification = asked.verification
    let wait = (asked.wait ?? verification.resendAfter - now).wholeMilliseconds
    self.init(
      verificationID: asked.id, app: verification.app, phoneNumber: verification.phoneNumber,
      codeLength: verification.isTestNumber ? AppProfile.fictionalCodeLength : codeLength,
      expiresAt: verification.expiresAt, resendAfter: Int(max(0, (wait + 999) / 1000)), resent: resent,
      testNumber: verification.isTestNumber)
    purpose = verification.purpose.unlessSignIn
  }
}

extension VerificationApproved {
  init(_ asked: AskedVerification, at now: UnixTime) {
    let verification = asked.verification
    self.init(
      verificationID: asked.id, app: verification.app, phoneNumber: verification.phoneNumber,
      approvedAt: verification.endedAt ?? now, purpose: verification.purpose, subject: verification.subject,
      testNumber: verification.isTestNumber)
  }
}

extension VerificationCanceled {
  init(_ asked: AskedVerification, at now: UnixTime) {
    let verification = asked.verification
    self.init(
      verificationID: asked.id, app: verification.app, phoneNumber: verification.phoneNumber,
      canceledAt: verification.endedAt ?? now, purpose: verification.purpose.unlessSignIn)
  }
}

extension VerificationStatus {
  init(_ asked: AskedVerification) {
    let verification = asked.verification
    let view = verification.view(through: asked.handle)
    self.init(
      verificationID: asked.id, app: verification.app, phoneNumber: verification.phoneNumber,
      state: State(rawValue: view.state.rawValue), expiresAt: view.expiresAt,
      failure: view.failure.map { Failure(code: $0.code, detail: $0.detail) },
      timeline: view.timeline.map(Entry.init), purpose: verification.purpose.unlessSignIn)
  }
}

extension VerificationStatus.Entry {
  init(_ entry: TimelineEntry) {
    self.init(
      at: entry.at, event: entry.kind.rawValue, job: entry.job, lane: entry.lane, reference: entry.reference,
      reason: entry.reason, detail: entry.detail)
    worker = entry.worker
    attempts = entry.attempts
    segments = entry.segments
  }
}
