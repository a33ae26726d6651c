import CountersignMessages
import JobEngine

/// Decides whether a job may leave as a mail, for the worker and for `countersign mail preview`.
struct MailPolicy: Sendable {
  enum Outcome {
    case mail(OutgoingMail)
    case refused(Reason)
    case invalid(ContractProblem)
  }

  let senders: [Sender]
  let relay: RelayRules
  let composer: MailComposer

  func mail(for body: MailRelayJob, messageID: String) -> Outcome {
    guard let to = MailAddress(body.to) else {
      return .refused(
        Reason("INVALID_RECIPIENT", "`to` must be an address such as name@example.com, without a display name."))
    }
    guard let sender = sender(body.from) else {
      return .refused(
        Reason("SENDER_NOT_REGISTERED", "`from` is not the address of one of this worker's senders."))
    }
    if relay.isRelay(to), let problem = relay.problem(with: sender) {
      return .refused(Reason("SENDER_NOT_REGISTERED", "Apple's relay would drop this mail: \(problem)."))
    }
    if let url = body.unsubscribeURL, !MailPlainText.isLink(url) {
      return .refused(Reason("INVALID_UNSUBSCRIBE_URL", "`unsubscribeURL` must be an https:// address."))
    }
    switch composer.compose(body, messageID: messageID) {
    case .invalid(let problem): return .invalid(problem)
    case .refused(let reason): return .refused(reason)
    case .text(let text):
      return .mail(OutgoingMail(to: to, sender: sender, text: text, unsubscribeURL: body.unsubscribeURL))
    }
  }

  /// The first one if the job names none.
  private func sender(_ from: String?) -> Sender? {
    guard let from else { return senders.first }
    guard let address = MailAddress(from) else { return nil }
    return senders.first { $0.from.key == address.key }
  }
}
