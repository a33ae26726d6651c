import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// `verification.find`: the verifications of a number, with what became of their SMS.
///
/// A group is read by the bytes of its IDs, which are in no order of time, so only the page itself is sorted. The limits
/// of a real number keep all of its verifications on one page.
struct FindOrder: CommandOrder {
  private let number: String
  private let since: UnixTime?
  private let page: StoreKeys.GroupPage
  private let service: VerificationService

  init(_ command: FindVerifications, number: String, _ service: VerificationService) throws(APIError) {
    self.number = number
    self.service = service
    since = command.since
    page = try StoreKeys.GroupPage(
      of: VerificationRecords.kind, limit: StoreLimits.maxGroupPage, in: 1...StoreLimits.maxGroupPage,
      after: command.after)
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(group: try VerificationRecords.group(ofNumber: number), page)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let (records, isComplete) = try set.group(VerificationRecords.group(ofNumber: number), page)
    var found: [[VerificationsFound.Verification]] = []
    var sizes: [Int] = []
    for record in records {
      let rows = try handles(of: record, at: set.now)
      found.append(rows)
      sizes.append(try reply(rows).written().count)
    }
    let shown = found.prefix(ReplyRoom.fitting(sizes))
    var answer = reply(shown.flatMap(\.self).sorted { $0.startedAt > $1.startedAt })
    if shown.count < found.count || !isComplete { answer.next = records.prefix(shown.count).last?.id.text }
    return try CommandAnswer(answer)
  }

  private func handles(
    of record: Record, at now: UnixTime
  ) throws(StoreError) -> [VerificationsFound.Verification] {
    var verification = try PhoneVerification(record)
    // As in the answer to `verification.status`.
    _ = verification.apply(.deadlinePassed, at: now, under: service.rules.policy)
    return verification.handleNumbers.map { VerificationsFound.Verification(verification, handle: $0) }
      .filter { found in since.map { found.startedAt >= $0 } ?? true }
  }

  private func reply(_ verifications: [VerificationsFound.Verification]) -> VerificationsFound {
    VerificationsFound(
      verifications: verifications, retentionSeconds: Int(service.rules.retention.components.seconds))
  }
}

extension VerificationsFound.Verification {
  fileprivate init(_ verification: PhoneVerification, handle: Int) {
    let view = verification.view(through: handle)
    self.init(
      verificationID: verification.id(of: handle), app: verification.app,
      state: VerificationStatus.State(rawValue: view.state.rawValue),
      startedAt: verification.startedAt(of: handle), testNumber: verification.isTestNumber)
    purpose = verification.purpose.unlessSignIn
    reason = view.failure?.code
    sms = view.timeline.last { $0.kind.isOfSMS }.map { entry in
      var step = VerificationStatus.Entry(entry)
      step.detail = nil
      return step
    }
  }
}

extension TimelineEntry.Kind {
  fileprivate var isOfSMS: Bool { rawValue.hasPrefix("sms.") }
}
