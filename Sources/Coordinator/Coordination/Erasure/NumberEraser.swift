import CountersignMessages
import CountersignTelemetry
import SQLite

/// Erases the coordinator's data about a number: `number.forget`.
struct NumberEraser: Sendable {
  private let rules: CoordinatorRules
  private let subjects: LimitSubjects
  private let events: VerificationEvents

  init(_ rules: CoordinatorRules, subjects: LimitSubjects) {
    self.rules = rules
    self.subjects = subjects
    events = VerificationEvents(codeLength: rules.policy.codeLength)
  }

  /// - Returns: an answer that is not recorded: it has nothing to repeat, and neither the number nor its hash may be
  ///   kept.
  func forget(
    _ number: String, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    let all = try transaction.verifications(ofNumber: number)
    var canceled = 0
    for var verification in all {
      if verification.state.isLive {
        canceled += 1
        try cancel(&verification, request, in: transaction)
      }
      try transaction.delete(verification)
    }
    var answer = try CommandAnswer(
      NumberForgotten(
        verifications: all.count, canceled: canceled, replies: try transaction.forgetReplies(about: number),
        waiting: try transaction.forgetAssessments(about: number), counts: try transaction.forget(names(number))))
    answer.isTransient = true
    return answer
  }

  private func cancel(
    _ verification: inout PhoneVerification, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    for handle in verification.openHandles {
      let actions = verification.apply(.cancelRequested, through: handle, at: transaction.now, under: rules.policy)
      try events.publish(actions, of: verification, cause: request.envelope, in: transaction)
    }
    transaction.set(verification)
  }

  /// Subjects of the counts of a number, as a real and as a fictional one.
  private func names(_ number: String) -> [LimitSubject] {
    [subjects.subject(.number, number)] + rules.apps.keys.sorted().map { subjects.fictional(number, of: $0) }
  }
}

// Operators erase a number rarely, so the tables are scanned: an index for it would cost a page for each start.
extension CoordinatorTransaction {
  /// - Returns: the number of deleted replies.
  func forgetReplies(about number: String) throws(DatabaseError) -> Int {
    inbox = [:]
    return try session.execute(
      "DELETE FROM inbox WHERE instr(reply, CAST(? AS BLOB)) > 0", [.text(Self.quoted(number))])
  }

  /// Only a pending assessment holds a number.
  func forgetAssessments(about number: String) throws(DatabaseError) -> Int {
    try session.execute(
      "DELETE FROM assessment WHERE instr(command, ?) > 0", [.text(Self.quoted(number))])
  }

  func forget(_ subjects: [LimitSubject]) throws(DatabaseError) -> Int {
    var count = 0
    for subject in subjects {
      forgetUsage(of: subject)
      for key in [subject.key] + (subject.earlierKey.map { [$0] } ?? []) {
        count += try session.execute("DELETE FROM usage WHERE subject = ?", [.text(key)])
      }
    }
    return count
  }

  /// The number as it appears in JSON: not as part of a longer number.
  private static func quoted(_ number: String) -> String { "\"\(number)\"" }
}
