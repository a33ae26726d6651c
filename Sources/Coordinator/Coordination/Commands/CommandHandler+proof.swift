import CountersignMessages
import CountersignTelemetry
import PhoneNumbers
import SQLite

extension CommandHandler {
  /// Starts a verification whose request carries a proof of its app.
  /// - Returns: `nil` when the start waits for reCAPTCHA.
  func startProven(
    _ order: StartOrder, _ request: CommandRequest, _ tally: inout Tally, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer? {
    guard let proof = order.proof else { return try start(order, request, &tally, in: transaction) }
    switch try gate.judge(proof, order, request, &tally, in: transaction) {
    case .refused(let error): return CommandAnswer(error)
    case .deferred: return nil
    case .unjudged(let refusal): return try unjudged(order, refusal, in: transaction)
    case .admitted(let notes):
      var order = order
      order.device = notes.device
      let answer = try start(order, request, &tally, in: transaction)
      if answer.error == nil { try leave(notes, order, request, &tally, in: transaction) }
      return answer
    }
  }

  /// Records the outcome of its proof in the verification.
  private func leave(
    _ notes: ProofNotes, _ order: StartOrder, _ request: CommandRequest, _ tally: inout Tally,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard var verification = try transaction.liveVerification(order.key),
      let handle = verification.openHandle(where: order.requester.isSame)
    else { return }
    var entries = notes.entries
    if let captcha = notes.audited {
      try gate.assess(captcha, order, request, verificationID: verification.id(of: handle), in: transaction)
      tally.proofs.append(ProofCount(.recaptcha, "asked"))
      entries.append(TimelineEntry(at: transaction.now, kind: .recaptchaQueued))
    }
    guard !entries.isEmpty else { return }
    verification.timeline.add(entries.map { $0.of(handle) })
    transaction.set(verification)
  }
}
