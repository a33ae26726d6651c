import CommandEngine
import CountersignMessages
import CountersignTelemetry

// Commands about a started verification, addressed by the ID of one of its handles.
extension VerificationService {
  /// Adds what follows from the verification that a check found.
  func addMoreKeys(of order: CheckOrder, to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    guard let asked = try records.found(order.verificationID, in: set) else { return }
    try records.addKeys(ofAsked: asked.verification, to: &keys, at: set.now)
    try limits.addKeys(of: LimitedCheck(of: asked, from: order.address, isFirstCode: false), to: &keys, at: set.now)
  }

  /// Adds what follows from the verification that the ID of a handle leads to.
  func addMoreKeys(ofID id: String, to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    guard let asked = try records.found(id, in: set) else { return }
    try records.addKeys(ofAsked: asked.verification, to: &keys, at: set.now)
  }

  func check(
    _ order: CheckOrder, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    guard let before = try records.found(order.verificationID, in: set) else {
      codes.matchNothing(order.code)
      return CommandAnswer(.unknownVerification)
    }
    if let field = order.difference(from: before.verification) {
      codes.matchNothing(order.code)
      return CommandAnswer(.otherVerification(field))
    }
    let now = set.now
    let limited = LimitedCheck(order, before)
    var asked = before
    var actions = asked.verification.apply(.checkRequested, through: asked.handle, at: now, under: rules.policy)
    if actions == [.compareCode] {
      if let refusal = try admit(limited, in: &set) {
        codes.matchNothing(order.code)
        metrics.count(refusal, in: &set)
        return CommandAnswer(APIError(refusal))
      }
      let event = compare(order.code, with: asked.verification)
      if event == .codeCompared(matches: false) { try countWrong(limited, in: &set) }
      actions = asked.verification.apply(event, through: asked.handle, at: now, under: rules.policy)
      if event == .codeLost { actions.append(.refuse(.notSent(.codeLost))) }
    } else {
      codes.matchNothing(order.code)
    }
    if asked != before { try records.put(asked.verification, before: before.verification, in: &set) }
    return try answer(actions, on: asked, nil, envelope, in: &set)
  }

  /// - Parameter check: `nil` for a check that no limit counts.
  private func admit(
    _ check: LimitedCheck?, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    guard let check else { return nil }
    return try limits.admitCheck(check, in: &set)
  }

  private func countWrong(
    _ check: LimitedCheck?, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let check else { return }
    set.afterCommit { [metrics, isFictional = check.isFictional] in metrics.countWrongCode(isFictional: isFictional) }
    try limits.countWrong(check, in: &set)
  }

  private func compare(_ code: String, with verification: PhoneVerification) -> VerificationEvent {
    let matches = codes.matches(code, verification.code, for: verification.id)
    return codes.knowsPepper(of: verification.code) ? .codeCompared(matches: matches) : .codeLost
  }

  func cancel(
    _ id: String, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    guard let before = try records.found(id, in: set) else { return CommandAnswer(.unknownVerification) }
    var asked = before
    let actions = asked.verification.apply(
      .cancelRequested, through: asked.handle, at: set.now, under: rules.policy)
    if asked != before { try records.put(asked.verification, before: before.verification, in: &set) }
    return try answer(actions, on: asked, nil, envelope, in: &set)
  }

  func status(_ id: String, in set: WorkingSet) throws(StoreError) -> CommandAnswer {
    guard var asked = try records.found(id, in: set) else { return CommandAnswer(.unknownVerification) }
    // An expiry that the sweeper has not processed yet is shown here, and stored by the sweeper.
    _ = asked.verification.apply(.deadlinePassed, at: set.now, under: rules.policy)
    return try CommandAnswer(VerificationStatus(asked))
  }
}

extension LimitedCheck {
  /// - Returns: `nil` for a used code. Comparing with it reveals nothing, and the verification bounds it.
  fileprivate init?(_ order: CheckOrder, _ asked: AskedVerification) {
    let verification = asked.verification
    guard verification.state.isLive else { return nil }
    let isFirst = asked.handle == PhoneVerification.firstHandle
    let before = isFirst ? verification.checks : verification.handles.checks
    self.init(of: asked, from: order.address, isFirstCode: before == 0)
  }

  fileprivate init(of asked: AskedVerification, from address: ClientAddress?, isFirstCode: Bool) {
    let verification = asked.verification
    self.init(
      app: verification.app, number: verification.phoneNumber, address: address,
      isFictional: verification.isTestNumber, isFirstHandle: asked.handle == PhoneVerification.firstHandle,
      isFirstCode: isFirstCode)
  }
}
