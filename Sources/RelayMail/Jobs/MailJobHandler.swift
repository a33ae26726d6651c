public import Messages
import Telemetry
public import WorkerRuntime

/// Makes a `mail.relay` job into a signed mail and submits it.
///
/// What the sender got wrong about recipient, sender or text is `refused`; what breaks the contract of messages is a dead
/// letter. A mail that Apple's relay would drop is refused before it leaves.
public struct MailJobHandler: JobHandler {
  public typealias Body = MailRelayJob
  public typealias Job = OutgoingMail

  private let lanes: [MailLane]
  private let senders: [Sender]
  private let relay: RelayRules
  private let composer: MailComposer
  private let writer: MailWriter
  private let suppressions: SuppressionList
  private let log: Logger

  init(
    lanes: [MailLane], senders: [Sender], relay: RelayRules, composer: MailComposer, writer: MailWriter,
    suppressions: SuppressionList, log: Logger
  ) {
    self.lanes = lanes
    self.senders = senders
    self.relay = relay
    self.composer = composer
    self.writer = writer
    self.suppressions = suppressions
    self.log = log
  }

  public func prepare(_ body: MailRelayJob, of message: JobMessage) -> Preparation<OutgoingMail> {
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
    if let url = body.unsubscribeURL, !PlainText.isLink(url) {
      return .refused(Reason("INVALID_UNSUBSCRIBE_URL", "`unsubscribeURL` must be an https:// address."))
    }
    switch composer.compose(body, messageID: message.messageID) {
    case .invalid(let problem): return .invalid(problem)
    case .refused(let reason): return .refused(reason)
    case .text(let text):
      let names = lanes.map(\.name)
      let mail = OutgoingMail(to: to, sender: sender, text: text, unsubscribeURL: body.unsubscribeURL)
      return .ready(
        PreparedJob(mail, lanes: names, deadline: body.deadline, onUnknown: body.onUnknown ?? .report))
    }
  }

  /// The first sender is everybody's who names none.
  private func sender(_ from: String?) -> Sender? {
    guard let from else { return senders.first }
    guard let address = MailAddress(from) else { return nil }
    return senders.first { $0.from.key == address.key }
  }

  public func perform(_ job: OutgoingMail, on lane: String, _ attempt: JobAttempt) async -> Classification {
    guard let lane = lanes.first(where: { $0.name == lane }) else {
      return .retry(Reason("UNKNOWN_LANE", "This worker has no such lane."))
    }
    do {
      if let entry = try await suppressions.entry(for: job.to) {
        return .refused(Self.suppressed(entry), extras: ["suppress": true])
      }
    } catch {
      return .retry(Reason("STORE_UNAVAILABLE", "The suppression list could not be read; nothing was sent."))
    }
    let content: [UInt8]
    do {
      content = try writer.write(job, jobID: attempt.jobID, date: attempt.startedAt)
    } catch {
      return .laneDown(Reason("SIGNING_FAILED", "The mail could not be signed: \(error)"))
    }
    let ending = await lane.send(content, job, timeout: attempt.timeout)
    if ending.suppress { await suppress(job.to, ending.classification, attempt) }
    return ending.classification
  }

  public func probe(lane: String) async -> ProbeResult {
    await lanes.first { $0.name == lane }?.probe() ?? .cannotTell
  }

  private static func suppressed(_ entry: Suppression) -> Reason {
    Reason(
      "RECIPIENT_SUPPRESSED",
      "Nothing is sent to this address since \(entry.since.rfc3339), because of \(entry.reason); "
        + "countersign mail suppressions lift takes it off the list.",
      providerCode: entry.providerCode)
  }

  private func suppress(_ address: MailAddress, _ classification: Classification, _ attempt: JobAttempt) async {
    guard case .refused(let reason, _) = classification else { return }
    do {
      try await suppressions.add(
        Suppression(
          address: address.key, since: attempt.startedAt, reason: reason.code, providerCode: reason.providerCode,
          jobID: attempt.jobID))
    } catch {
      log.error("an address could not be put on the suppression list", [.jobID: attempt.jobID, .error: error.message])
    }
  }
}
