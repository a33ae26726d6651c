import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

/// Answers checks as the coordinator does: under their message IDs, from its own user, with the secrets opened.
final class ScriptedCoordinator {
  struct Verification {
    var app = AccountsBench.app
    var number = AccountsBench.number
    var code = "123456"
    var isFictional = false
    var checksLeft = 5
    var approvedAt: UnixTime?
    var purpose = VerificationPurpose.signIn
    var subject: String?
  }

  /// By their IDs. The first is there from the beginning.
  var verifications = ["v1": Verification()]
  private(set) var compared = 0
  private var recorded: [String: (order: [String], reply: any MessageBody)] = [:]
  private let keys: KeyRing

  init(keys: KeyRing) {
    self.keys = keys
  }

  /// The answer to a check. It throws for one that the coordinator would not take.
  func answer(_ check: Publication, at now: UnixTime) throws -> Delivery {
    #expect(check.exchange == Topology.Exchanges.commands && check.routingKey == "verification.check")
    #expect(check.message.userID == Topology.Users.accounts)
    #expect(check.message.replyTo == Topology.Queues.accountsReplies)
    let id = try #require(check.message.messageID)
    #expect(id.utf8.count == 64)
    let command = try CheckVerification(json: check.message.body)
    #expect(command.code.isSealed)
    let code = try command.code.open(
      with: keys,
      for: SealContext(messageType: CheckVerification.type, messageID: id, recipient: command.verificationID))
    let order = [
      command.verificationID, command.app ?? "", command.purpose?.rawValue ?? "", command.subject ?? "", code.reveal(),
    ]
    if let known = recorded[id] {
      #expect(known.order == order, "MESSAGE_ID_REUSED")
      return Self.reply(known.reply, to: check)
    }
    let before = verifications[command.verificationID]
    let reply = self.reply(to: command, code.reveal(), at: now)
    // An answer that changed nothing is not recorded.
    if before?.checksLeft != verifications[command.verificationID]?.checksLeft || reply is VerificationApproved {
      recorded[id] = (order, reply)
    }
    return Self.reply(reply, to: check)
  }

  private func reply(to command: CheckVerification, _ code: String, at now: UnixTime) -> any MessageBody {
    guard var found = verifications[command.verificationID], command.app == nil || command.app == found.app,
      command.purpose == found.purpose, command.subject == found.subject
    else { return ErrorReply(APIError(.invalidSessionInfo, "there is none", field: "verificationID")) }
    guard found.approvedAt == nil else {
      return ErrorReply(
        APIError(.sessionExpired, "is over", reason: code == found.code ? "CODE_USED" : nil))
    }
    guard found.checksLeft > 0 else { return ErrorReply(APIError(.tooManyAttempts, "too often")) }
    compared += 1
    if code == found.code { found.approvedAt = now } else { found.checksLeft -= 1 }
    verifications[command.verificationID] = found
    guard code == found.code else {
      return ErrorReply(APIError(.invalidCode, "is wrong", field: "code", attemptsLeft: found.checksLeft))
    }
    return VerificationApproved(
      verificationID: command.verificationID, app: found.app, phoneNumber: found.number, approvedAt: now,
      purpose: found.purpose, subject: found.subject, testNumber: found.isFictional)
  }

  /// Starts that were carried out, with the secrets of their proofs, opened.
  struct Start {
    let messageID: String
    let command: StartVerification
    let secret: Secret?
    let token: Secret?
  }

  private(set) var starts: [Start] = []

  /// The answer to a start. It throws for one that the coordinator would not take.
  func answer(start publication: Publication, isFictional: Bool = false, at now: UnixTime) throws -> Delivery {
    #expect(publication.exchange == Topology.Exchanges.commands && publication.routingKey == "verification.start")
    #expect(publication.message.userID == Topology.Users.accounts)
    #expect(publication.message.replyTo == Topology.Queues.accountsReplies)
    let id = try #require(publication.message.messageID)
    #expect(id.utf8.count == 64)
    let command = try StartVerification(json: publication.message.body)
    let context = SealContext(messageType: StartVerification.type, messageID: id, recipient: command.app)
    let start = Start(
      messageID: id, command: command, secret: try command.proof?.secret?.open(with: keys, for: context),
      token: try command.proof?.recaptchaToken?.open(with: keys, for: context))
    let known = starts.firstIndex { $0.messageID == id }
    if let known, starts[known].command.phoneNumber != command.phoneNumber || starts[known].command.app != command.app {
      return Self.reply(
        ErrorReply(APIError(.invalidArgument, "was used", field: "message_id", reason: "MESSAGE_ID_REUSED")),
        to: publication)
    }
    let verificationID = "s\(known ?? starts.count)"
    if known == nil {
      starts.append(start)
      verifications[verificationID] = Verification(
        app: command.app, number: command.phoneNumber, isFictional: isFictional,
        purpose: command.purpose ?? .signIn, subject: command.subject)
    }
    var started = VerificationStarted(
      verificationID: verificationID, app: command.app, phoneNumber: command.phoneNumber, codeLength: 6,
      expiresAt: now + .seconds(600), resendAfter: 30, resent: false, testNumber: isFictional)
    started.purpose = command.purpose?.unlessSignIn
    return Self.reply(started, to: publication)
  }

  func answer(any publication: Publication, at now: UnixTime) throws -> Delivery {
    switch publication.routingKey {
    case StartVerification.routingKey: return try answer(start: publication, at: now)
    case GetVerificationStatus.routingKey:
      let command = try GetVerificationStatus(json: publication.message.body)
      guard let found = find(command.verificationID, command.app, command.purpose, command.subject) else {
        return Self.reply(Self.unknown, to: publication)
      }
      let status = VerificationStatus(
        verificationID: command.verificationID, app: found.app, phoneNumber: found.number,
        state: found.approvedAt == nil ? .sent : .approved, expiresAt: now, timeline: [],
        purpose: found.purpose.unlessSignIn)
      return Self.reply(status, to: publication)
    case CancelVerification.routingKey:
      let command = try CancelVerification(json: publication.message.body)
      guard let found = find(command.verificationID, command.app, command.purpose, command.subject) else {
        return Self.reply(Self.unknown, to: publication)
      }
      verifications[command.verificationID] = nil
      let canceled = VerificationCanceled(
        verificationID: command.verificationID, app: found.app, phoneNumber: found.number, canceledAt: now,
        purpose: found.purpose.unlessSignIn)
      return Self.reply(canceled, to: publication)
    default: return try answer(publication, at: now)
    }
  }

  private static var unknown: ErrorReply {
    ErrorReply(APIError(.invalidSessionInfo, "there is none", field: "subject"))
  }

  private func find(
    _ id: String, _ app: String?, _ purpose: VerificationPurpose?, _ subject: String?
  ) -> Verification? {
    verifications[id].flatMap { found in
      found.purpose == purpose && found.subject == subject && app.map { $0 == found.app } ?? true ? found : nil
    }
  }

  static func reply(
    _ body: any MessageBody, to check: Publication, user: String = Topology.Users.coordinator, sender: String? = nil
  ) -> Delivery {
    let id = check.message.messageID ?? ""
    var envelope = Envelope(
      type: type(of: body).type, messageID: id + ".reply", correlationID: check.message.correlationID, userID: user)
    envelope.causationID = id
    envelope.statedSender = sender
    return Delivery(
      message: envelope.message(body: (try? body.json()) ?? []), routingKey: check.message.replyTo ?? "")
  }
}

extension AccountsBench {
  /// Reports that the verification that was asked for has started, after answers that are not believed: of others than
  /// the coordinator, and about another app or purpose.
  func reportStart(of number: String, for purpose: VerificationPurpose) async throws -> VerificationStarted {
    let publication = try #require(checks.first)
    var answer = VerificationStarted(
      verificationID: "s", app: Self.app, phoneNumber: number, codeLength: 6, expiresAt: clock.now() + .seconds(600),
      resendAfter: 30, resent: false, testNumber: false)
    answer.purpose = purpose
    for user in [Topology.Users.operator, "gateway", "service"] {
      await report(ScriptedCoordinator.reply(answer, to: publication, user: user, sender: Topology.Users.coordinator))
      #expect(sink.published.map(\.exchange) == [Topology.Exchanges.dead], "\(user)")
    }
    var others = [answer, answer, answer]
    others[0].app = "com.example.other"
    others[1].purpose = .secondFactorSignIn
    others[2].purpose = nil
    for other in others {
      await report(ScriptedCoordinator.reply(other, to: publication))
      #expect(sink.published.isEmpty)
    }
    await report(ScriptedCoordinator.reply(answer, to: publication))
    return answer
  }
}
