public import CountersignMessages
import CountersignTelemetry
public import JobEngine

/// Makes a `mail.relay` job into a signed mail and submits it.
///
/// A job with an invalid recipient, sender or text is `refused`; one that breaks the contract of messages is a dead
/// letter. A mail that Apple's relay would drop is refused before it leaves.
public struct MailJobHandler: JobHandler {
  public typealias Body = MailRelayJob
  public typealias Job = OutgoingMail

  private let lanes: [SMTPLane]
  private let policy: MailPolicy
  private let suppressions: SuppressionList
  private let logger: Logger

  init(lanes: [SMTPLane], policy: MailPolicy, suppressions: SuppressionList, logger: Logger) {
    self.lanes = lanes
    self.policy = policy
    self.suppressions = suppressions
    self.logger = logger
  }

  public func prepare(_ body: MailRelayJob, of message: JobMessage) -> Preparation<OutgoingMail> {
    switch policy.mail(for: body, messageID: message.messageID) {
    case .invalid(let problem): return .invalid(problem)
    case .refused(let reason): return .refused(reason)
    case .mail(let mail):
      let names = lanes.map(\.name)
      return .ready(mail, JobFacts(lanes: names, deadline: body.deadline, onUnknown: .sender(body.onUnknown)))
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
    let classification = await lane.send(job, attempt)
    if case .refused(let reason, let extras) = classification, extras["suppress"] == true {
      await suppress(job.to, reason, attempt)
    }
    return classification
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

  private func suppress(_ address: MailAddress, _ reason: Reason, _ attempt: JobAttempt) async {
    do {
      try await suppressions.add(
        Suppression(
          address: address.key, since: attempt.startedAt, reason: reason.code, providerCode: reason.providerCode,
          jobID: attempt.jobID))
    } catch {
      logger.error(
        "an address could not be put on the suppression list", [.jobID: attempt.jobID, .error: error.message])
    }
  }
}
