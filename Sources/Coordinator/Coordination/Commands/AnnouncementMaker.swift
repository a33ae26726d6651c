import CountersignMessages
import CountersignTelemetry

/// Makes the events about a verification.
struct AnnouncementMaker: Sendable {
  let codeLength: Int

  /// - Parameters:
  ///   - handle: the handle whose holder is notified.
  ///   - news: the report about an SMS, for events that need one.
  ///   - cause: the `message_id` of the message that led to it.
  func message(
    _ announcement: VerificationAction.Announcement, of verification: PhoneVerification,
    to handle: Int = PhoneVerification.firstHandle, news: MessageNews? = nil, cause: Envelope?, at now: UnixTime
  ) throws(ContractProblem) -> OutgoingMessage {
    let asked = AskedVerification(verification: verification, handle: handle)
    let (type, body) = try content(announcement, of: asked, news: news, at: now)
    let suffix =
      news.map { announcement.isAboutMessage ? ".\($0.number)" : "" }
      ?? again(announcement, verification.reopenings(of: handle))
    return OutgoingMessage(
      duty: .optional, exchange: Topology.Exchanges.events, routingKey: type.name, type: type.text,
      messageID: "\(asked.id).\(announcement.rawValue)\(suffix)", correlationID: asked.id,
      causationID: cause?.messageID, traceparent: cause?.trace?.child().traceparent, timestamp: now,
      discardAfter: nil, body: body)
  }

  /// Suffix that distinguishes the events about a handle that was canceled and requested again: it begins, and may be
  /// canceled, more than once.
  private func again(_ announcement: VerificationAction.Announcement, _ reopenings: Int) -> String {
    guard reopenings > 0, announcement == .started || announcement == .canceled else { return "" }
    return ".\(reopenings + 1)"
  }

  private func content(
    _ announcement: VerificationAction.Announcement, of asked: AskedVerification, news: MessageNews?, at now: UnixTime
  ) throws(ContractProblem) -> (MessageType, [UInt8]) {
    let verification = asked.verification
    let (id, app, number) = (asked.id, verification.app, verification.phoneNumber)
    let purpose = verification.purpose.unlessSignIn
    switch announcement {
    case .started:
      let body = VerificationStarted(asked, codeLength: codeLength, resent: false, at: now)
      return (VerificationStarted.type, body.fastJSON)
    case .sent:
      let body = VerificationSent(
        verificationID: id, app: app, phoneNumber: number, sentAt: now, job: news?.number ?? 1, lane: news?.lane,
        reference: news?.reference, purpose: purpose)
      return (VerificationSent.type, body.fastJSON)
    case .delivered:
      return try encode(
        VerificationDelivered(
          verificationID: id, app: app, phoneNumber: number, deliveredAt: now, job: news?.number ?? 1,
          lane: news?.lane, reference: news?.reference, purpose: purpose))
    case .undelivered:
      var body = VerificationUndelivered(
        verificationID: id, app: app, phoneNumber: number, undeliveredAt: now, job: news?.number ?? 1,
        lane: news?.lane, reference: news?.reference,
        reason: news?.reason.map { .init(code: $0.code, detail: $0.detail) })
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

  private func encode<Body: MessageBody>(_ body: Body) throws(ContractProblem) -> (MessageType, [UInt8]) {
    (Body.type, try body.json())
  }
}
