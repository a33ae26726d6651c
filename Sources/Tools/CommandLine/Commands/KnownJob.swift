internal import CountersignMessages

/// A type of job that can be enqueued by hand.
struct KnownJob: Sendable {
  let type: MessageType
  /// Throws what is wrong with a body.
  let check: @Sendable ([UInt8]) throws(ContractProblem) -> Void

  private init<Body: Job>(_ body: Body.Type) {
    type = Body.type
    check = { (json) throws(ContractProblem) in _ = try Body(json: json) }
  }

  /// Those of this version.
  static let all = [
    KnownJob(SMSDispatchJob.self), KnownJob(PushVerifyJob.self), KnownJob(RecaptchaAssessJob.self),
    KnownJob(MailRelayJob.self), KnownJob(AppleRevokeJob.self),
  ]

  /// Their names, for people.
  static var names: String { all.map(\.type.name).joined(separator: ", ") }
}
