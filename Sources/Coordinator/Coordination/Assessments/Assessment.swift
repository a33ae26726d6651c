import CountersignTelemetry

/// A reCAPTCHA token that somebody has to judge before its request goes on.
///
/// ```
/// pending ──┬──> passed
///           ├──> refused
///           └──> undecided   (nobody judged it in time)
/// ```
///
/// A plain value without I/O. What was asked for waits in it, so that a restart loses nothing; of the token there is only its hash,
/// by which a second use is known.
struct Assessment: Sendable, Hashable {
  enum State: String, Sendable, CaseIterable {
    case pending, passed, refused, undecided
  }

  /// See `VerificationID`.
  let id: String
  /// The `message_id` of the command.
  let messageID: String
  let tokenHash: [UInt8]
  /// The verification that goes on without the outcome, where the app is only audited.
  let verificationID: String?
  let createdAt: UnixTime
  let expiresAt: UnixTime
  /// What waits.
  var command: WaitingStart
  var state: State

  init(
    id: String, messageID: String, tokenHash: [UInt8], verificationID: String?, command: WaitingStart,
    createdAt: UnixTime, expiresAt: UnixTime, state: State = .pending
  ) {
    self.id = id
    self.messageID = messageID
    self.tokenHash = tokenHash
    self.verificationID = verificationID
    self.command = command
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.state = state
  }

  /// The same without what tells of a person: number, network, address of the reply.
  var withoutCommand: Assessment {
    var copy = self
    copy.command = WaitingStart(app: command.app, phoneNumber: "", fingerprint: [])
    return copy
  }

  /// What to do after an event.
  enum Action: Sendable, Hashable {
    /// Go on with what waits: the token passed.
    case proceed
    /// Answer what waits.
    case refuse(ProofRefusal)
    /// Nothing waits: write it into the timeline of the verification.
    case record
  }

  /// Takes the worker's report. A second one, or one that comes too late, changes nothing.
  mutating func apply(_ report: JobReport) -> Action? {
    guard state == .pending else { return nil }
    let refusal: ProofRefusal?
    switch report.outcome {
    case .accepted:
      state = .passed
      refusal = nil
    case .refused:
      state = .refused
      refusal = .captchaRefused(report.reason ?? VerificationFailure(code: "CAPTCHA_INVALID"))
    case .expired, .unknown:
      state = .undecided
      refusal = .captchaUndecided(report.reason ?? VerificationFailure(code: report.outcome.rawValue.uppercased()))
    }
    guard verificationID == nil else { return .record }
    return refusal.map { .refuse($0) } ?? .proceed
  }

  /// Ends it when its time is over.
  mutating func applyDeadline(at now: UnixTime) -> Action? {
    guard state == .pending, now >= expiresAt else { return nil }
    state = .undecided
    return verificationID == nil ? .refuse(.captchaUndecided(.notAssessedInTime)) : .record
  }
}

extension VerificationFailure {
  static let notAssessedInTime = VerificationFailure(
    code: "NOT_ASSESSED_IN_TIME", detail: "no worker judged the reCAPTCHA token in time")
}
