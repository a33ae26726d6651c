import CountersignMessages
import SQLite

/// Applies a report on an SMS to its verification and publishes the resulting events.
struct VerificationReports: Sendable {
  private let policy: VerificationPolicy
  private let announcements: AnnouncementMaker

  init(_ rules: CoordinatorRules) {
    policy = rules.policy
    announcements = AnnouncementMaker(codeLength: rules.policy.codeLength)
  }

  /// - Returns: the announcements; `nil` when nothing changed, as by a report on a deleted verification.
  func apply(
    _ event: VerificationEvent, to id: String, _ news: MessageNews, cause: Envelope,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> [VerificationAction.Announcement]? {
    guard id.utf8.count <= VerificationID.maxLength, let before = try transaction.verification(id) else { return nil }
    var verification = before
    let now = transaction.now
    let actions = verification.apply(event, at: now, under: policy)
    guard verification != before else { return nil }
    transaction.set(verification)
    var tally = Tally()
    tally.note(actions, on: verification)
    for case .announce(let announcement, to: let handle) in actions {
      do throws(ContractProblem) {
        transaction.enqueue(
          try announcements.message(announcement, of: verification, to: handle, news: news, cause: cause, at: now))
      } catch {
        throw DatabaseError(.content, "an event cannot be written: \(error)")
      }
    }
    return tally.announcements
  }
}
