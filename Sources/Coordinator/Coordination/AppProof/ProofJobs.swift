import CountersignMessages
import CountersignTelemetry

/// Makes the jobs that push a secret and that assess a reCAPTCHA token.
struct ProofJobs: Sendable {
  private let sealer: Sealer

  init(sealer: Sealer) {
    self.sealer = sealer
  }

  /// The body of a push, its secret sealed for this job and this device.
  /// - Parameter deviceToken: in lower case.
  func push(_ secret: Secret, of proof: AppProof, to deviceToken: String, deadline: UnixTime) throws -> [UInt8] {
    let context = SealContext(
      messageType: PushVerifyJob.type, messageID: JobName(proof.receipt, .push).text, recipient: deviceToken)
    return try PushVerifyJob(
      app: proof.app, deviceToken: deviceToken, environment: proof.environment, receipt: proof.receipt,
      secret: try sealer.seal(secret, for: context), deadline: deadline
    ).json()
  }

  /// The body of an assessment, its token sealed for this job and this app.
  func assessment(
    _ captcha: CaptchaEvidence, _ assessment: Assessment, action: String
  ) throws -> [UInt8] {
    let app = assessment.command.app
    let context = SealContext(
      messageType: RecaptchaAssessJob.type, messageID: JobName(assessment.id, .captcha).text, recipient: app)
    return try RecaptchaAssessJob(
      app: app, token: try sealer.seal(captcha.token, for: context), expectedAction: action,
      client: captcha.client.map { client in
        RecaptchaAssessJob.Client(
          ip: client.ip, userAgent: client.userAgent?.cut(toBytes: TokenLimit.maxUserAgentBytes))
      },
      phoneNumber: assessment.command.phoneNumber, deadline: assessment.expiresAt
    ).json()
  }
}
