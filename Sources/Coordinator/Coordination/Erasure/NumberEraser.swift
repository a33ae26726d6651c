import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// An operators' command.
struct ForgetNumberCommand: CommandOrder {
  /// E.164.
  let number: String
  let envelope: Envelope
  let eraser: NumberEraser
  var forgotten: NumberForgotten?

  var fingerprint: [UInt8] { CommandFingerprint.hash(ForgetNumber.type.text, []) }

  /// There may be more than fits into one transaction.
  var stage: CommandStage? {
    CommandStage(longest: NumberEraser.longest) { access throws(StoreError) in
      var order = self
      order.forgotten = try await eraser.begin(number, envelope, access)
      return order
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard var forgotten else { throw StoreError(.misuse, "a number is forgotten without the stage before") }
    try eraser.finish(number, envelope, &forgotten, in: &set)
    var answer = try CommandAnswer(forgotten)
    answer.isTransient = true
    return answer
  }
}

/// Erases the coordinator's data about a number: `number.forget`.
///
/// The last page of its verifications goes in the transaction of the command, with the events and the reply; as a rule
/// there is one. All else goes before, in transactions of its own. After a crash, the rest is erased when the command
/// arrives again.
struct NumberEraser: Sendable {
  /// Time limit of an erasure. It searches all recorded replies of the last hour, some 200,000 a second, and a
  /// repetition searches from the beginning.
  static let longest = Duration.seconds(60)

  private let rules: CoordinatorRules
  private let limits: RateLimits
  let records: VerificationRecords
  private let assessments: AssessmentRecords
  private let events: VerificationEvents

  init(
    _ rules: CoordinatorRules, limits: RateLimits, records: VerificationRecords, metrics: CoordinatorMetrics
  ) {
    self.rules = rules
    self.limits = limits
    self.records = records
    assessments = AssessmentRecords(rules)
    events = VerificationEvents(rules, metrics: metrics)
  }

  // MARK: Before the transaction

  /// Erases everything but the last page of verifications.
  func begin(
    _ number: String, _ envelope: Envelope, _ access: StageAccess
  ) async throws(StoreError) -> NumberForgotten {
    var forgotten = NumberForgotten(verifications: 0, canceled: 0, replies: 0, waiting: 0, counts: 0)
    while let page = try await forgetPage(of: number, envelope, access) {
      // What is left must not be reported as erased.
      if Task.isCancelled { throw StoreError(.unavailable, "the erasure was ended before its end") }
      forgotten.verifications += page.verifications
      forgotten.canceled += page.canceled
    }
    // The number as it appears in JSON: not as part of a longer number.
    forgotten.replies = try await access.store.forget(repliesContaining: Array("\"\(number)\"".utf8))
    forgotten.waiting = try await forgetAssessments(of: number, access)
    forgotten.counts = try await forgetCounts(of: number, access)
    return forgotten
  }

  private func forgetPage(
    of number: String, _ envelope: Envelope, _ access: StageAccess
  ) async throws(StoreError) -> Page? {
    try await access.transact { set throws(StoreError) in
      let (found, isLast) = try records.page(ofNumber: number, in: set)
      return isLast ? nil : try forget(found, envelope, in: &set)
    }
  }

  private func forgetAssessments(
    of number: String, _ access: StageAccess
  ) async throws(StoreError) -> Int {
    var total = 0
    var count = 0
    repeat {
      count = try await access.transact { set throws(StoreError) in
        try assessments.remove(ofNumber: number, in: &set)
      }
      total += count
    } while count >= StoreLimits.maxGroupPage
    return total
  }

  private func forgetCounts(
    of number: String, _ access: StageAccess
  ) async throws(StoreError) -> Int {
    let subjects = names(number)
    return try await access.transact { set throws(StoreError) in try limits.forget(subjects, in: &set) }
  }

  private func names(_ number: String) -> [LimitSubject] {
    [limits.subjects.subject(.number, number)]
      + rules.allApps.keys.sorted().map { limits.subjects.fictional(number, of: $0) }
  }

  // MARK: In the transaction

  func finish(
    _ number: String, _ envelope: Envelope, _ forgotten: inout NumberForgotten, in set: inout WorkingSet
  ) throws(StoreError) {
    let page = try forget(records.page(ofNumber: number, in: set).records, envelope, in: &set)
    forgotten.verifications += page.verifications
    forgotten.canceled += page.canceled
  }

  // MARK: Verifications

  private typealias Page = (verifications: Int, canceled: Int)

  private func forget(
    _ found: [Record], _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> Page {
    var page: Page = (found.count, 0)
    for record in found {
      // One that cannot be read is erased as well, without a word to its requesters.
      if let verification = try? PhoneVerification(record), verification.state.isLive {
        page.canceled += 1
        try cancel(verification, envelope, in: &set)
      }
      try set.remove(record.id)
    }
    return page
  }

  private func cancel(
    _ verification: PhoneVerification, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    var verification = verification
    for handle in verification.openHandles {
      let actions = verification.apply(.cancelRequested, through: handle, at: set.now, under: rules.policy)
      try events.publish(actions, of: verification, cause: envelope, in: &set)
    }
  }
}
