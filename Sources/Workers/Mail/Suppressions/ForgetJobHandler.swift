public import CountersignMessages
import CountersignTelemetry
public import JobEngine

/// Takes the addresses of a `mail.forget` job off the suppression list.
public struct ForgetJobHandler: JobHandler {
  public typealias Body = MailForgetJob

  /// Addresses of a deleted account, and its end.
  public struct Job: Sendable {
    let addresses: [MailAddress]
    let knownBefore: UnixTime
  }

  /// Its only lane: the list takes the place of a provider.
  public static let lanes = [LaneConfiguration(name: lane, concurrency: 4, breakerThreshold: 0)]
  private static let lane = "suppressions"
  /// Users that may erase: any other would lift the suppression of whomever it likes.
  private static let senders: Set = [Topology.Users.accounts, Topology.Users.operator]

  private let suppressions: SuppressionList

  init(suppressions: SuppressionList) {
    self.suppressions = suppressions
  }

  public func prepare(_ body: MailForgetJob, of message: JobMessage) -> Preparation<Job> {
    guard Self.senders.contains(message.sender) else { return .refused(.notItsSender) }
    guard (1...MailForgetJob.maxAddresses).contains(body.addresses.count) else {
      return .invalid(
        ContractProblem(
          .invalidField, field: "addresses", "must have 1 to \(MailForgetJob.maxAddresses) entries"))
    }
    // The list holds none that cannot be read.
    let job = Job(addresses: body.addresses.compactMap { MailAddress($0) }, knownBefore: body.knownBefore)
    return .ready(
      job, JobFacts(lanes: [Self.lane], deadline: body.deadline, onUnknown: .resendUntilDeadline))
  }

  public func perform(_ job: Job, on lane: String, _ attempt: JobAttempt) async -> Classification {
    do throws(WorkerError) {
      for address in job.addresses { try await suppressions.forget(address, since: job.knownBefore) }
    } catch {
      return .retry(Reason("STORE_UNAVAILABLE", "The suppression list could not be written."))
    }
    return .accepted(reference: nil)
  }
}

extension Reason {
  fileprivate static let notItsSender = Reason(
    "NOT_ALLOWED", "Only accounts and operators have addresses forgotten.")
}
