import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

/// A reCAPTCHA token that a worker has to judge before its request goes on.
///
/// ```
/// pending ──┬──> passed
///           ├──> refused
///           └──> undecided   (not judged in time)
/// ```
///
/// A plain value without I/O. It holds the waiting request, so a restart loses nothing; of the token it holds only the
/// hash, which reveals a second use.
struct Assessment: Sendable, Hashable {
  enum State: String, Sendable, CaseIterable {
    case pending, passed, refused, undecided
  }

  let id: String
  let messageID: String
  let tokenHash: [UInt8]
  /// The verification that goes on without the outcome, when the app is only audited.
  let verificationID: String?
  var command: WaitingStart
  let createdAt: UnixTime
  let expiresAt: UnixTime
  var state = State.pending

  /// A copy without personal data: number, network, reply address.
  var withoutCommand: Assessment {
    var copy = self
    copy.command = WaitingStart(
      app: command.app, phoneNumber: "", fingerprint: [], askedLate: command.askedLate, purpose: command.purpose,
      sender: command.sender)
    return copy
  }

  enum Action: Sendable, Hashable {
    /// Go on with the waiting command: the token passed.
    case proceed
    case refuse(ProofRefusal)
    /// Write the outcome into the verification's timeline: no command waits.
    case record
  }

  /// A second or late report changes nothing.
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

  mutating func applyDeadline(at now: UnixTime) -> Action? {
    guard state == .pending, now >= expiresAt else { return nil }
    state = .undecided
    return verificationID == nil ? .refuse(.captchaUndecided(.notAssessedInTime)) : .record
  }
}

extension Assessment {
  var envelope: Envelope {
    Envelope(
      type: StartVerification.type, messageID: messageID, correlationID: command.correlationID,
      replyTo: command.replyTo, userID: command.sender == SenderRule.unnamed ? nil : command.sender,
      trace: command.traceparent.flatMap(TraceContext.init(traceparent:)))
  }
}

extension VerificationFailure {
  static let notAssessedInTime = VerificationFailure(
    code: "NOT_ASSESSED_IN_TIME", detail: "no worker judged the reCAPTCHA token in time")
}

/// A start that waits for its proof, with everything needed to resume it as if it had just arrived.
struct WaitingStart: Sendable, Hashable, Codable {
  var app: String
  /// E.164.
  var phoneNumber: String
  var languageCode: String?
  /// Values of the template's own variables, if it gives some.
  var variables: [String: String]?
  var network: String?
  var fingerprint: [UInt8]
  /// The receipt of a push that did not arrive, if the app reported it.
  var receipt: String?
  var askedLate: Bool
  var purpose: VerificationPurpose
  var subject: String?
  /// See ``Requester/hash``. Absent for an unnamed requester.
  var requester: [UInt8]?
  var sender: String
  var replyTo: String?
  var correlationID: String?
  var traceparent: String?
}

extension WaitingStart {
  init(_ order: StartOrder, _ captcha: CaptchaEvidence, _ envelope: Envelope) {
    self.init(
      app: order.app.id, phoneNumber: order.number.e164, languageCode: order.languageCode,
      variables: order.variables.isEmpty ? nil : order.variables, network: order.address?.network,
      fingerprint: order.fingerprint, receipt: captcha.receipt,
      askedLate: order.fresh.verification.askedLate, purpose: order.key.purpose, subject: order.key.subject,
      requester: order.claim.requester(device: nil).stored, sender: envelope.identity.sender,
      replyTo: envelope.replyTo, correlationID: envelope.correlationID, traceparent: envelope.trace?.traceparent)
  }
}
