import CountersignMessages
import CountersignTelemetry
import SQLite

// Commands about a started verification, addressed by the ID of one of its handles.
extension VerificationService {
  func check(
    _ order: CheckOrder, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    guard let before = try find(order.verificationID, in: transaction) else {
      codes.matchNothing(order.code)
      return CommandAnswer(.unknownVerification)
    }
    if let field = order.difference(from: before.verification) {
      codes.matchNothing(order.code)
      return CommandAnswer(.otherVerification(field))
    }
    let now = transaction.now
    let limited = LimitedCheck(order, before)
    var asked = before
    var actions = asked.verification.apply(.checkRequested, through: asked.handle, at: now, under: rules.policy)
    if actions == [.compareCode] {
      if let refusal = try admit(limited, in: transaction) {
        codes.matchNothing(order.code)
        transaction.counts.refusals.append(refusal.scope)
        return CommandAnswer(APIError(refusal))
      }
      let event = compare(order.code, with: asked.verification)
      if event == .codeCompared(matches: false) { try countWrong(limited, in: transaction) }
      actions = asked.verification.apply(event, through: asked.handle, at: now, under: rules.policy)
      if event == .codeLost { actions.append(.refuse(.notSent(.codeLost))) }
    } else {
      codes.matchNothing(order.code)
    }
    if asked != before { transaction.set(asked.verification) }
    return try answer(actions, on: asked, nil, request, in: transaction)
  }

  /// - Parameter check: `nil` for a check that no limit counts.
  private func admit(
    _ check: LimitedCheck?, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> LimitRefusal? {
    guard let check else { return nil }
    return try limits.admitCheck(check, at: transaction.now, in: transaction)
  }

  private func countWrong(
    _ check: LimitedCheck?, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard let check else { return }
    if check.isFictional {
      transaction.counts.wrongCodes.fictional += 1
    } else {
      transaction.counts.wrongCodes.real += 1
    }
    try limits.countWrong(check, at: transaction.now, in: transaction)
  }

  private func compare(_ code: String, with verification: PhoneVerification) -> VerificationEvent {
    let matches = codes.matches(code, verification.code, for: verification.id)
    return codes.knowsPepper(of: verification.code) ? .codeCompared(matches: matches) : .codeLost
  }

  func cancel(
    _ id: String, _ request: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    guard let before = try find(id, in: transaction) else { return CommandAnswer(.unknownVerification) }
    var asked = before
    let actions = asked.verification.apply(
      .cancelRequested, through: asked.handle, at: transaction.now, under: rules.policy)
    if asked != before { transaction.set(asked.verification) }
    return try answer(actions, on: asked, nil, request, in: transaction)
  }

  func status(_ id: String, in transaction: CoordinatorTransaction) throws(DatabaseError) -> CommandAnswer {
    guard var asked = try find(id, in: transaction) else { return CommandAnswer(.unknownVerification) }
    // An expiry that the sweeper has not processed yet is shown here, and stored by the sweeper.
    _ = asked.verification.apply(.deadlinePassed, at: transaction.now, under: rules.policy)
    return try CommandAnswer(VerificationStatus(asked))
  }

  private func find(
    _ id: String, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> AskedVerification? {
    guard !id.isEmpty, id.utf8.count <= VerificationID.maxLength, let found = try transaction.found(id) else {
      return nil
    }
    return AskedVerification(verification: found.verification, handle: found.handle)
  }
}

extension LimitedCheck {
  /// - Returns: `nil` for a used code. Comparing with it reveals nothing, and the verification bounds it.
  fileprivate init?(_ order: CheckOrder, _ asked: AskedVerification) {
    let verification = asked.verification
    guard verification.state.isLive else { return nil }
    let isFirst = asked.handle == PhoneVerification.firstHandle
    let before = isFirst ? verification.checks : verification.handles.checks
    self.init(
      app: verification.app, number: verification.phoneNumber, address: order.address,
      isFictional: verification.isTestNumber, isFirstHandle: isFirst, isFirstCode: before == 0)
  }
}
