import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Has the coordinator check codes, while commands wait.
struct PhoneChecks: Sendable {
  let parts: AccountParts

  /// - Returns: a refusal; `nil` when the command waits.
  func wait(
    _ command: PhoneCheck.Waiting, for code: PhoneCode, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer? {
    var check = try code.check(in: set) ?? PhoneCheck(code)
    try check.answerLate(in: &set)
    guard check.waiting.count < PhoneCheck.maxWaiting else { return CommandAnswer(.tooManyWaiting) }
    let isFirst = check.waiting.isEmpty
    check.waiting.append(command)
    try check.store(in: &set)
    if isFirst { try set.send(message(for: code, check, command, at: set.now)) }
    return nil
  }

  /// Takes note that a command which waits has arrived again.
  func renew(_ envelope: Envelope, for code: PhoneCode, in set: inout WorkingSet) throws(StoreError) -> Bool {
    guard var check = try code.check(in: set), check.renew(envelope) else { return false }
    try check.store(in: &set)
    return true
  }

  /// Its ID is that of the check: the coordinator compares the code once, and answers alike.
  private func message(
    for code: PhoneCode, _ check: PhoneCheck, _ command: PhoneCheck.Waiting, at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    let given = code.given
    return try .command(
      CheckVerification(
        verificationID: given.verificationID, code: given.sealed(under: check.id.text, parts.sealer), app: given.app,
        purpose: code.purpose,
        subject: code.subject, client: given.address.map { StartVerification.Client(ip: $0) }),
      id: check.id.text, correlationID: CheckReply.correlationID(of: check), replyTo: parts.replyQueue,
      cause: command.envelope, deadline: command.deadline, at: now)
  }
}
