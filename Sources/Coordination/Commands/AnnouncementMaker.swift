import Messages
import Telemetry

/// The events that tell of a verification.
struct AnnouncementMaker: Sendable {
  let codeLength: Int

  /// - Parameters:
  ///   - news: what was reported of a message, for events that are about one.
  ///   - cause: the `message_id` of what led to it.
  func message(
    _ announcement: VerificationAction.Announcement, of verification: PhoneVerification, news: MessageNews? = nil,
    cause: Envelope?, at now: UnixTime
  ) throws(ContractProblem) -> OutgoingMessage {
    let (type, body) = try content(announcement, of: verification, news: news, at: now)
    let suffix = news.map { announcement.isAboutMessage ? ".\($0.number)" : "" } ?? ""
    return OutgoingMessage(
      duty: .optional, exchange: Topology.Exchanges.events, routingKey: type.name, type: type.text,
      messageID: "\(verification.id).\(announcement.rawValue)\(suffix)", correlationID: verification.id,
      causationID: cause?.messageID, traceparent: cause?.trace?.child().traceparent, timestamp: now,
      discardAfter: nil, body: body)
  }

  private func content(
    _ announcement: VerificationAction.Announcement, of verification: PhoneVerification, news: MessageNews?,
    at now: UnixTime
  ) throws(ContractProblem) -> (MessageType, [UInt8]) {
    let (id, app, number) = (verification.id, verification.app, verification.phoneNumber)
    switch announcement {
    case .started:
      let body = VerificationStarted(verification, codeLength: codeLength, resent: false, at: now)
      return (VerificationStarted.type, body.hotJSON)
    case .sent:
      let body = VerificationSent(
        verificationID: id, app: app, phoneNumber: number, sentAt: now, job: news?.number ?? 1, lane: news?.lane,
        reference: news?.reference)
      return (VerificationSent.type, body.hotJSON)
    case .delivered:
      return try encode(
        VerificationDelivered(
          verificationID: id, app: app, phoneNumber: number, deliveredAt: now, job: news?.number ?? 1,
          lane: news?.lane, reference: news?.reference))
    case .undelivered:
      return try encode(
        VerificationUndelivered(
          verificationID: id, app: app, phoneNumber: number, undeliveredAt: now, job: news?.number ?? 1,
          lane: news?.lane, reference: news?.reference,
          reason: news?.reason.map { .init(code: $0.code, detail: $0.detail) }))
    case .approved:
      let body = VerificationApproved(verificationID: id, app: app, phoneNumber: number, approvedAt: now)
      return (VerificationApproved.type, body.hotJSON)
    case .failed:
      let failure = verification.failure ?? .notSentInTime
      return try encode(
        VerificationFailed(
          verificationID: id, app: app, phoneNumber: number, failedAt: now,
          failure: .init(code: failure.code, detail: failure.detail)))
    case .expired:
      return try encode(VerificationExpired(verificationID: id, app: app, phoneNumber: number, expiredAt: now))
    case .canceled:
      return try encode(VerificationCanceled(verificationID: id, app: app, phoneNumber: number, canceledAt: now))
    }
  }

  private func encode<Body: MessageBody>(_ body: Body) throws(ContractProblem) -> (MessageType, [UInt8]) {
    (Body.type, try body.json())
  }
}

extension VerificationStarted {
  /// - Parameter wait: how long a limit forbids sending the code again, if one does.
  init(
    _ verification: PhoneVerification, codeLength: Int, resent: Bool, wait: Duration? = nil, at now: UnixTime
  ) {
    let wait = (wait ?? verification.resendAfter - now).wholeMilliseconds
    self.init(
      verificationID: verification.id, app: verification.app, phoneNumber: verification.phoneNumber,
      codeLength: verification.isTestNumber ? AppProfile.fictionalCodeLength : codeLength,
      expiresAt: verification.expiresAt, resendAfter: Int(max(0, (wait + 999) / 1000)), resent: resent,
      testNumber: verification.isTestNumber)
  }
}

extension VerificationStatus {
  init(_ verification: PhoneVerification) {
    self.init(
      verificationID: verification.id, app: verification.app, phoneNumber: verification.phoneNumber,
      state: State(rawValue: verification.state.rawValue), expiresAt: verification.expiresAt,
      failure: verification.failure.map { Failure(code: $0.code, detail: $0.detail) },
      timeline: verification.timeline.entries.map(Entry.init))
  }
}

extension VerificationStatus.Entry {
  init(_ entry: TimelineEntry) {
    self.init(
      at: entry.at, event: entry.kind.rawValue, job: entry.job, lane: entry.lane, worker: entry.worker,
      reference: entry.reference, reason: entry.reason, detail: entry.detail, attempts: entry.attempts,
      segments: entry.segments)
  }
}
