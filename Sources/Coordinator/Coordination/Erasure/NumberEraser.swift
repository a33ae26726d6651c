import CountersignMessages
import CountersignTelemetry
import SQLite

/// Erases the coordinator's data about a number: `number.forget`.
struct NumberEraser: Sendable {
  private let rules: CoordinatorRules
  private let subjects: SubjectKeeper
  private let announcements: AnnouncementMaker

  init(_ rules: CoordinatorRules, subjects: SubjectKeeper) {
    self.rules = rules
    self.subjects = subjects
    announcements = AnnouncementMaker(codeLength: rules.policy.codeLength)
  }

  /// - Returns: an answer that is not recorded: it has nothing to repeat, and neither the number nor its hash may be
  ///   kept.
  func forget(
    _ number: String, _ request: CommandRequest, _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    let all = try transaction.verifications(ofNumber: number)
    var canceled = 0
    for var verification in all {
      if verification.state.isLive {
        canceled += 1
        try cancel(&verification, request, &tally, in: transaction)
      }
      try transaction.delete(verification)
    }
    var answer = try CommandAnswer.written(
      NumberForgotten(
        verifications: all.count, canceled: canceled, replies: try transaction.forgetReplies(about: number),
        waiting: try transaction.forgetAssessments(about: number), counts: try transaction.forget(names(number))))
    answer.isTransient = true
    return answer
  }

  private func cancel(
    _ verification: inout PhoneVerification, _ request: CommandRequest, _ tally: inout Tally,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    for handle in verification.openHandles {
      let actions = verification.apply(.cancelRequested, through: handle, at: transaction.now, under: rules.policy)
      tally.note(actions, on: verification)
      for case .announce(let announcement, to: let handle) in actions {
        do throws(ContractProblem) {
          transaction.enqueue(
            try announcements.message(
              announcement, of: verification, to: handle, cause: request.envelope, at: transaction.now))
        } catch {
          throw DatabaseError(.content, "an event cannot be written: \(error)")
        }
      }
    }
    transaction.set(verification)
  }

  /// Subjects of the counts of a number, as a real and as a fictional one.
  private func names(_ number: String) -> [LimitSubject] {
    [subjects.subject(.number, number)] + rules.apps.keys.sorted().map { subjects.fictional(number, of: $0) }
  }
}
