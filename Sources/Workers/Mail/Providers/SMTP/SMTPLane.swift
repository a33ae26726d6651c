import CountersignMessages
import CountersignTelemetry
import JobEngine
public import SMTPClient

/// SMTP as a lane needs it: one message, one reply. `SMTPClient` is the implementation that ships.
public protocol MailSubmitter: Sendable {
  /// Submits a message.
  ///
  /// - Throws: the reason why it was not taken, and whether the server may have it nevertheless.
  func send(_ message: SMTPMessage, timeout: Duration) async throws(SMTPFailure) -> SMTPReply

  /// Connects and authenticates.
  func check(timeout: Duration) async throws(SMTPFailure)

  /// Closes the connections.
  func shutdown()
}

extension SMTPClient: MailSubmitter {}

struct SMTPLane: ProviderLane, ProviderAPI {
  let name: String
  let submitter: any MailSubmitter
  let writer: MailWriter
  let table: ReplyTable
  let metrics: SMTPMetrics

  static let checkTimeout = Duration.seconds(15)

  func send(_ mail: OutgoingMail, _ attempt: JobAttempt) async -> Classification {
    switch request(mail, attempt) {
    case .impossible(let classification): return classification
    case .request(let message):
      let reply: Result<SMTPReply, SMTPFailure>
      do throws(SMTPFailure) {
        reply = .success(try await submitter.send(message, timeout: attempt.timeout))
      } catch {
        reply = .failure(error)
        countDowngrade(error, mail.to)
      }
      return classify(reply, of: mail)
    }
  }

  func shutdown() async { submitter.shutdown() }

  func probe() async -> ProbeResult {
    do {
      try await submitter.check(timeout: Self.checkTimeout)
      return .up
    } catch {
      guard let reply = error.reply else { return .down(Reason("NOT_CONNECTED", "The mail server: \(error)")) }
      let rule = table.rule(error.stage, reply, recipient: nil)
      return .down(Reason(rule.reason, rule.detail, providerCode: reply.codes))
    }
  }

  func request(_ mail: OutgoingMail, _ attempt: JobAttempt) -> PreparedRequest<SMTPMessage> {
    do {
      let content = try writer.write(mail, job: attempt.job, date: attempt.startedAt)
      return .request(
        SMTPMessage(sender: mail.sender.envelope.text, recipient: mail.to.text, content: content))
    } catch {
      return .impossible(.laneDown(Reason("SIGNING_FAILED", "The mail could not be signed: \(error)")))
    }
  }

  func classify(_ response: Result<SMTPReply, SMTPFailure>, of mail: OutgoingMail) -> Classification {
    switch response {
    case .success(let reply): return .accepted(reference: Self.reference(reply))
    case .failure(let failure):
      if let reply = failure.reply { return refusal(reply, failure.stage, mail.to) }
      if failure.messageMayBeTaken {
        return .unknown(
          Reason("NO_REPLY", "The mail server received the message and did not say whether it accepted it: \(failure)"))
      }
      return Self.withoutReply(failure)
    }
  }

  /// A failure before the final dot left: the server does not have the message.
  private static func withoutReply(_ failure: SMTPFailure) -> Classification {
    switch failure.kind {
    case .untrusted: .laneDown(Reason("TLS_NOT_TRUSTED", "The mail server's certificate does not verify: \(failure)"))
    case .noTLS:
      .laneDown(Reason("TLS_NOT_OFFERED", "The mail server offers no TLS, which this lane requires: \(failure)"))
    case .noAuthentication:
      .laneDown(Reason("MAIL_CREDENTIALS", "The mail server offers no authentication for this account: \(failure)"))
    case .noSMTPUTF8: .otherLane(notInternational)
    case .refused, .resolve, .connect, .tls, .lost, .timedOut, .canceled, .closed, .other:
      .retry(Reason("NOT_SUBMITTED", "The mail server did not receive the message: \(failure)"))
    }
  }

  private static let notInternational = Reason(
    "SMTPUTF8_NOT_OFFERED", "The address is not ASCII, and the mail server does not support such addresses.")

  private func refusal(_ reply: SMTPReply, _ stage: SMTPStage, _ recipient: MailAddress) -> Classification {
    let rule = table.rule(stage, reply, recipient: recipient)
    let reason = Reason(rule.reason, rule.detail, providerCode: reply.codes)
    return switch rule.class {
    case .refused: .refused(reason, extras: rule.suppress == true ? ["suppress": true] : [:])
    case .otherLane: .otherLane(reason)
    case .retry: .retry(reason, after: ReplyDelay.parse(reply.text) ?? rule.delaySeconds.map { .seconds($0) })
    case .laneDown: .laneDown(reason)
    }
  }

  /// Counts a reply that blames the sender, and does not take the lane down.
  private func countDowngrade(_ failure: SMTPFailure, _ recipient: MailAddress) {
    guard let reply = failure.reply else { return }
    let rule = table.rule(failure.stage, reply, recipient: recipient)
    if rule.isDowngraded { metrics.downgraded(lane: name, reason: rule.reason) }
  }

  /// The ID under which the server queued the mail, `2.0.0 Ok: queued as 4Tk1`, or `nil`.
  static func reference(_ reply: SMTPReply) -> String? {
    let words = reply.text.split { " \n<>".contains($0) }
    let marks: Set<Substring> = ["as", "id"]
    for index in words.indices.dropLast() where marks.contains(Substring(words[index].lowercased().trimmingColon)) {
      let word = words[index + 1]
      if word.utf8.count <= maxReferenceBytes, word.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
        return String(word)
      }
    }
    return nil
  }

  private static let maxReferenceBytes = 128
}

extension String {
  fileprivate var trimmingColon: String { hasSuffix(":") || hasSuffix("=") ? String(dropLast()) : self }
}

struct SMTPMetrics: Sendable {
  private let downgraded: MetricFamily<Counter>

  init(_ registry: MetricsRegistry, lanes: [String], _ table: ReplyTable) {
    downgraded = registry.counter(
      "countersign_mail_replies_downgraded_total",
      "Replies that blame this sender but take no lane down, because the recipient's own server may have sent them.",
      labels: ["lane", "reason"])
    // An alert must see the first.
    for lane in lanes {
      for reason in table.laneDownReasons { _ = downgraded.with(lane, reason) }
    }
  }

  func downgraded(lane: String, reason: String) { downgraded.with(lane, reason).increment() }
}
