public import CountersignMessages
import CountersignTelemetry
public import JobEngine

/// Makes a `mail.relay` job into a signed mail and submits it.
///
/// What the sender got wrong about recipient, sender or text is `refused`; what breaks the contract of messages is a dead
/// letter. A mail that Apple's relay would drop is refused before it leaves.
public struct MailJobHandler: JobHandler {
  public typealias Body = MailRelayJob
  public typealias Job = OutgoingMail

  private let lanes: [MailLane]
  private let maker: MailMaker
  private let writer: MailWriter
  private let suppressions: SuppressionList
  private let log: Logger

  init(
    lanes: [MailLane], maker: MailMaker, writer: MailWriter, suppressions: SuppressionList, log: Logger
  ) {
    self.lanes = lanes
    self.maker = maker
    self.writer = writer
    self.suppressions = suppressions
    self.log = log
  }

  public func prepare(_ body: MailRelayJob, of message: JobMessage) -> Preparation<OutgoingMail> {
    switch maker.make(body, messageID: message.messageID) {
    case .invalid(let problem): return .invalid(problem)
    case .refused(let reason): return .refused(reason)
    case .mail(let mail):
      let names = lanes.map(\.name)
      return .ready(
        PreparedJob(mail, lanes: names, deadline: body.deadline, onUnknown: body.onUnknown ?? .report))
    }
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
      content = try writer.write(job, job: attempt.identity, date: attempt.startedAt)
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
