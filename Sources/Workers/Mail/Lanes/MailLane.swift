import CountersignMessages
import HTTPClient
import JobEngine

/// One way out for mail: a server that it is submitted to.
struct MailLane: Sendable {
  let name: String
  let submitter: any MailSubmitter
  let table: ReplyTable
  let metrics: MailMetrics

  /// What became of a submission, and whether nothing is to be sent to the recipient any more.
  struct Ending: Sendable, Hashable {
    let classification: Classification
    var suppress = false
  }

  /// A look at a lane that is down takes no longer.
  static let checkTimeout = Duration.seconds(15)

  /// Submits a written mail, once.
  func send(_ content: [UInt8], _ mail: OutgoingMail, timeout: Duration) async -> Ending {
    let message = SMTPMessage(sender: mail.sender.envelope.text, recipient: mail.to.text, content: content)
    do {
      return Ending(
        classification: .accepted(reference: Self.reference(try await submitter.send(message, timeout: timeout))))
    } catch {
      return ending(error, mail.to)
    }
  }

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

  private func ending(_ failure: SMTPFailure, _ recipient: MailAddress) -> Ending {
    if let reply = failure.reply { return ending(reply, failure.stage, recipient) }
    if failure.messageMayBeTaken {
      return Ending(
        classification: .unknown(
          Reason("NO_REPLY", "The mail server got the message and did not say whether it took it: \(failure)")))
    }
    return Ending(classification: withoutReply(failure))
  }

  /// The final dot did not leave: the server does not have the message.
  private func withoutReply(_ failure: SMTPFailure) -> Classification {
    switch failure.kind {
    case .untrusted: .laneDown(Reason("TLS_NOT_TRUSTED", "The mail server's certificate does not verify: \(failure)"))
    case .noTLS:
      .laneDown(Reason("TLS_NOT_OFFERED", "The mail server offers no TLS, which this lane requires: \(failure)"))
    case .noAuthentication:
      .laneDown(Reason("MAIL_CREDENTIALS", "The mail server offers no authentication for this account: \(failure)"))
    case .noSMTPUTF8: .otherLane(Self.notInternational)
    case .refused, .resolve, .connect, .tls, .lost, .timedOut, .canceled, .closed, .other:
      .retry(Reason("NOT_SUBMITTED", "The mail server did not get the message: \(failure)"))
    }
  }

  private static let notInternational = Reason(
    "SMTPUTF8_NOT_OFFERED", "The address is not ASCII, and the mail server takes no such address.")

  private func ending(_ reply: SMTPReply, _ stage: SMTPStage, _ recipient: MailAddress) -> Ending {
    let rule = table.rule(stage, reply, recipient: recipient)
    if rule.isDowngraded { metrics.downgraded(lane: name, reason: rule.reason) }
    let reason = Reason(rule.reason, rule.detail, providerCode: reply.codes)
    let suppress = rule.suppress == true
    return switch rule.class {
    case .refused:
      Ending(classification: .refused(reason, extras: suppress ? ["suppress": true] : [:]), suppress: suppress)
    case .otherLane: Ending(classification: .otherLane(reason))
    case .retry:
      Ending(
        classification: .retry(reason, after: ReplyDelay.parse(reply.text) ?? rule.delaySeconds.map { .seconds($0) }))
    case .laneDown: Ending(classification: .laneDown(reason))
    }
  }

  /// The ID under which the server has queued the mail, `2.0.0 Ok: queued as 4Tk1`; nil where it gives none.
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
