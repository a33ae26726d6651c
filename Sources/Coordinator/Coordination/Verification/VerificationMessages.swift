import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

struct VerificationEvents: Sendable {
  private let codeLength: Int
  private let metrics: CoordinatorMetrics

  init(_ rules: CoordinatorRules, metrics: CoordinatorMetrics) {
    codeLength = rules.policy.codeLength
    self.metrics = metrics
  }

  func publish(
    _ actions: [VerificationAction], of verification: PhoneVerification, report: (any MessageReport)? = nil,
    cause: Envelope?, in set: inout WorkingSet
  ) throws(StoreError) {
    count(actions, on: verification, in: &set)
    for case .announce(let announcement, to: let handle) in actions {
      let message = try message(
        announcement, of: verification, to: handle, report: report, cause: cause, at: set.now)
      try set.send(message)
    }
  }

  func count(_ actions: [VerificationAction], on verification: PhoneVerification, in set: inout WorkingSet) {
    let isCounted = actions.contains { if case .announce = $0 { true } else { false } }
    guard isCounted else { return }
    set.afterCommit { [metrics] in metrics.count(actions, on: verification) }
  }

  func message(
    _ announcement: VerificationAction.Announcement, of verification: PhoneVerification,
    to handle: Int = PhoneVerification.firstHandle, report: (any MessageReport)? = nil, cause: Envelope?,
    at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    let asked = AskedVerification(verification: verification, handle: handle)
    let (type, body) = try content(announcement, of: asked, report: report, at: now)
    let suffix =
      report.map { announcement.isAboutMessage ? ".\($0.number)" : "" }
      ?? again(announcement, verification.reopenings(of: handle))
    return OutgoingMessage(
      .optional, to: (Topology.Exchanges.events, type.name), type: type,
      messageID: "\(asked.id).\(announcement.rawValue)\(suffix)", correlationID: asked.id, cause: cause, at: now,
      body: body)
  }

  /// Suffix that distinguishes the events about a handle that was canceled and requested again: it begins, and may be
  /// canceled, more than once.
  private func again(_ announcement: VerificationAction.Announcement, _ reopenings: Int) -> String {
    guard reopenings > 0, announcement == .started || announcement == .canceled else { return "" }
    return ".\(reopenings + 1)"
  }

  private func content(
    _ announcement: VerificationAction.Announcement, of asked: AskedVerification, report: (any MessageReport)?,
    at now: UnixTime
  ) throws(StoreError) -> (MessageType, [UInt8]) {
    let verification = asked.verification
    let (id, app, number) = (asked.id, verification.app, verification.phoneNumber)
    let purpose = verification.purpose.unlessSignIn
    switch announcement {
    case .started:
      let body = VerificationStarted(asked, codeLength: codeLength, resent: false, at: now)
      return (VerificationStarted.type, body.fastJSON)
    case .sent:
      let body = VerificationSent(
        verificationID: id, app: app, phoneNumber: number, sentAt: now, job: report?.number ?? 1, lane: report?.lane,
        reference: report?.reference, purpose: purpose)
      return (VerificationSent.type, body.fastJSON)
    case .delivered:
      return try encode(
        VerificationDelivered(
          verificationID: id, app: app, phoneNumber: number, deliveredAt: now, job: report?.number ?? 1,
          lane: report?.lane, reference: report?.reference, purpose: purpose))
    case .undelivered:
      var body = VerificationUndelivered(
        verificationID: id, app: app, phoneNumber: number, undeliveredAt: now, job: report?.number ?? 1,
        lane: report?.lane, reference: report?.reference,
        reason: report?.reason.map { .init(code: $0.code, detail: $0.detail) })
      body.purpose = purpose
      return try encode(body)
    case .approved:
      return (VerificationApproved.type, VerificationApproved(asked, at: now).fastJSON)
    case .failed:
      let failure = verification.failure(of: asked.handle) ?? .notSentInTime
      return try encode(
        VerificationFailed(
          verificationID: id, app: app, phoneNumber: number, failedAt: now,
          failure: .init(code: failure.code, detail: failure.detail), purpose: purpose))
    case .expired:
      return try encode(
        VerificationExpired(verificationID: id, app: app, phoneNumber: number, expiredAt: now, purpose: purpose))
    case .canceled:
      return try encode(VerificationCanceled(asked, at: now))
    }
  }

  private func encode<Body: MessageBody>(_ body: Body) throws(StoreError) -> (MessageType, [UInt8]) {
    (Body.type, try body.written())
  }
}

protocol MessageReport: Sendable {
  var number: Int { get }
  var lane: String? { get }
  var reference: String? { get }
  var reason: VerificationFailure? { get }
}

extension JobReport: MessageReport {}
extension DeliveryReport: MessageReport {}

extension VerificationAction.Announcement {
  var isAboutMessage: Bool {
    switch self {
    case .sent, .delivered, .undelivered: true
    case .started, .approved, .failed, .expired, .canceled: false
    }
  }
}

struct AskedVerification: Sendable, Hashable {
  var verification: PhoneVerification
  var handle = PhoneVerification.firstHandle
  var wait: Duration?

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
    nextAttemptAt = entry.nextAttemptAt
    segments = entry.segments
    by = entry.user
  }
}

struct SMSJobs: Sendable {
  let sealer: Sealer
  let onUnknown: OnUnknown

  /// Always the same for an SMS, so that it is carried out once.
  static func jobID(_ verificationID: String, message number: Int) -> String {
    "\(verificationID)\(infix)\(number)"
  }

  /// `nil` for the job of another service.
  static func parse(jobID: String) -> (verificationID: String, message: Int)? {
    guard let dot = jobID.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    let head = jobID[...dot]
    guard head.hasSuffix(infix), let number = Int(jobID[jobID.utf8.index(after: dot)...]), number > 0 else {
      return nil
    }
    return (String(head.dropLast(infix.count)), number)
  }

  private static let infix = ".sms."

  func body(
    of verification: PhoneVerification, message number: Int, code: String, app: AppProfile
  ) throws -> [UInt8] {
    let custom = app.variables.merging(verification.variables) { _, given in given }
    var variables = SMSDispatchJob.Variables(
      appName: app.name, domain: app.domain, androidHash: app.androidHash, custom: custom.isEmpty ? nil : custom)
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
