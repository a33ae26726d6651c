import CountersignMessages

extension Sample {
  static var secondFactors: [SecondFactorView] {
    SecondFactorKind.allCases.map { kind in
      var view = SecondFactorView(enrollmentID: "e", kind: kind, enrolledAt: time)
      (view.displayName, view.phoneNumber) = ("Work", kind == .phone ? number : nil)
      return view
    }
  }

  static let sharedSecret = SharedSecret(
    key: "GEZDGNBVGY3TQOJQ", sessionInfo: "s", codeLength: 6, period: 30, expiresAt: time)

  private static let givenConsent = Consent(
    purpose: Consent.linking, textVersion: "2026-11", data: ["phone"], givenAt: time)

  static var consent: ConsentView {
    var view = ConsentView(givenConsent, recordedAt: time)
    view.revokedAt = time
    return view
  }

  static func secondFactorCommands() throws -> [Sample] {
    let starts = SecondFactorKind.allCases.flatMap { kind in
      var least = StartSecondFactor(project: project, kind: kind, replyKey: replyKey)
      (least.app, least.idToken, least.pendingCredential, least.enrollmentID) = (app, secret, secret, "e")
      (least.phoneNumber, least.fictionalOnly, least.languageCode, least.client) = (number, true, "de", client)
      var (push, recaptcha) = (least, least)
      push.proof = StartVerification.Proof(receipt: "r", secret: secret)
      recaptcha.proof = StartVerification.Proof(recaptchaToken: secret, action: "mfaSmsEnrollment")
      return [push, recaptcha]
    }
    let finishes = SecondFactorKind.allCases.map { kind in
      var finish = FinishSecondFactor(project: project, kind: kind, replyKey: replyKey)
      (finish.app, finish.idToken, finish.pendingCredential, finish.enrollmentID) = (app, secret, secret, "e")
      (finish.sessionInfo, finish.code, finish.displayName, finish.client) = (secret, secret, "Work", client)
      return finish
    }
    var record = RecordConsent(project: project)
    (record.idToken, record.bearer, record.localID) = (secret, secret, account)
    (record.consents, record.revokedPurposes) = ([givenConsent], ["news"])
    return [
      try Sample(starts, least: StartSecondFactor(project: project, kind: .phone, replyKey: replyKey)),
      try Sample(finishes, least: FinishSecondFactor(project: project, kind: .totp, replyKey: replyKey)),
      try Sample(
        [],
        least: WithdrawSecondFactor(project: project, idToken: secret, enrollmentID: "e", replyKey: replyKey)),
      try Sample([record], least: RecordConsent(project: project)),
    ]
  }

  static func secondFactorReplies() throws -> [Sample] {
    var started = SecondFactorStarted()
    started.verification = VerificationStarted(
      verificationID: "v", app: app, phoneNumber: number, codeLength: 6, expiresAt: time, resendAfter: 30,
      resent: false, testNumber: false)
    started.verification?.purpose = .secondFactorEnrollment
    started.sharedSecret = secret
    return [
      try Sample([started], least: SecondFactorStarted()),
      try Sample([ConsentsRecorded(consents: [consent])], least: ConsentsRecorded(consents: [])),
    ]
  }

  static func secondFactorEvents() throws -> [Sample] {
    [
      try Sample(
        [],
        least: SecondFactorEnrolled(
          project: project, localID: account, enrollmentID: "e", kind: .phone, enrolledAt: time)),
      try Sample(
        [],
        least: SecondFactorWithdrawn(
          project: project, localID: account, enrollmentID: "e", kind: .totp, withdrawnAt: time)),
      try Sample(
        [],
        least: ConsentChanged(
          project: project, localID: account, purpose: "linking", textVersion: "2026-11", isGiven: true,
          changedAt: time)),
    ]
  }
}
