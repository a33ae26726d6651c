import CountersignMessages
import CountersignTelemetry

/// Makes the jobs of a revocation.
struct RevocationJobMaker: Sendable {
  private let sealer: Sealer

  init(sealer: Sealer) {
    self.sealer = sealer
  }

  /// The body of the revocation worker's job, its token sealed for this job and this app.
  func revocation(_ command: StartRevocation, _ token: Secret, _ revocation: Revocation) throws -> [UInt8] {
    let context = SealContext(
      messageType: AppleRevokeJob.type, messageID: JobName(revocation.id, .revoke).text, recipient: revocation.app)
    return try AppleRevokeJob(
      app: revocation.app, clientID: command.clientID,
      token: AppleToken(command.token.kind, try sealer.seal(token, for: context)), redirectURI: command.redirectURI,
      deadline: revocation.expiresAt
    ).json()
  }

  /// The body of the mail worker's job.
  /// - Parameter appName: the name of the app in the mail.
  func notice(_ notice: StartRevocation.Notice, template: String, appName: String?, deadline: UnixTime)
    throws(ContractProblem) -> [UInt8]
  {
    try MailRelayJob(
      to: notice.email,
      content: .template(
        name: notice.template ?? template, languageCode: notice.languageCode,
        variables: MailRelayJob.Variables(appName: appName)),
      deadline: deadline
    ).json()
  }
}
