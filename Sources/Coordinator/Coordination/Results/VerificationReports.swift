import CountersignMessages
import SQLite

/// Takes what was reported of a message to the verification that it belongs to, and tells of what that changes.
struct VerificationReports: Sendable {
  private let policy: VerificationPolicy
  private let announcements: AnnouncementMaker

  init(_ rules: CoordinatorRules) {
    policy = rules.policy
    announcements = AnnouncementMaker(codeLength: rules.policy.codeLength)
  }

  /// - Returns: what was announced; nil when nothing changed, as by a report on a verification that is not there any more.
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
