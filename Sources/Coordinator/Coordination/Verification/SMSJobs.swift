import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Makes the jobs that send a verification's code.
struct SMSJobs: Sendable {
  private let sealer: Sealer
  private let onUnknown: OnUnknown

  init(sealer: Sealer, onUnknown: OnUnknown) {
    self.sealer = sealer
    self.onUnknown = onUnknown
  }

  /// The `message_id` of the job for an SMS: always the same, so that it is carried out once.
  static func jobID(_ verificationID: String, message number: Int) -> String {
    "\(verificationID)\(infix)\(number)"
  }

  /// Components of a job ID of ``jobID(_:message:)``; `nil` for the job of another service.
  static func parse(jobID: String) -> (verificationID: String, message: Int)? {
    guard let dot = jobID.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    let head = jobID[...dot]
    guard head.hasSuffix(infix), let number = Int(jobID[jobID.utf8.index(after: dot)...]), number > 0 else {
      return nil
    }
    return (String(head.dropLast(infix.count)), number)
  }

  private static let infix = ".sms."

  /// The body of a job, its code sealed for this job and this number.
  func body(
    of verification: PhoneVerification, message number: Int, code: String, app: AppProfile
  ) throws -> [UInt8] {
    var variables = SMSDispatchJob.Variables(
      appName: app.name, domain: app.domain, androidHash: app.androidHash)
    func job() -> SMSDispatchJob {
      SMSDispatchJob(
        to: verification.phoneNumber,
        content: .template(name: app.template, languageCode: verification.languageCode, variables: variables),
        app: verification.app, deadline: verification.expiresAt, onUnknown: onUnknown)
    }
    let context = job().sealContext(messageID: Self.jobID(verification.id, message: number))
    variables.code = try sealer.seal(Secret(code), for: context)
    return job().fastJSON
  }
}
