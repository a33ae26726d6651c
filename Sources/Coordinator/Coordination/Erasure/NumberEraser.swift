import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct ForgetNumberCommand: CommandOrder {
  let scope: ErasureScope
  let envelope: Envelope
  let eraser: NumberEraser
  private let actID = MessageID.make()
  private(set) var begun: NumberEraser.Begun?

  var fingerprint: [UInt8] { CommandFingerprint.hash(ForgetNumber.type.text, scope.parts) }

  /// There may be more than fits into one transaction.
  var stage: CommandStage? {
    CommandStage(longest: NumberEraser.longest, changesStore: true) { access throws(StoreError) in
      var order = self
      order.begun = try await eraser.begin(scope, envelope, access)
      return order
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard let begun else { throw StoreError(.misuse, "a number is forgotten without the stage before") }
    var answer = try CommandAnswer(eraser.finish(begun, scope, envelope, in: &set))
    // Accounts sends the same command until it is answered: those that pile up in an outage do the work once.
    (answer.isTransient, answer.isOfStage) = (!scope.isNarrow, scope.isNarrow)
    // Accounts forgets numbers too, for users. The number itself is forgotten here as well.
    if let user = envelope.userID, eraser.rules.operators.contains(user) {
      try ActRecord.note(ForgetNumber.routingKey, on: nil, id: actID, envelope, in: &set)
    }
    return answer
  }
}

/// Erases the coordinator's data about a number: `number.forget`.
///
/// The last page of its verifications goes in the transaction of the command, with the events and the reply; as a rule
/// there is one. All else goes before, in transactions of its own. After a crash, the rest is erased when the command
/// arrives again.
struct NumberEraser: Sendable {
  /// Time limit of an erasure. One for an operator searches all recorded replies of the last hour, some 200,000 a
  /// second, and a repetition searches from the beginning.
  static let longest = Duration.seconds(60)

  let rules: CoordinatorRules
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

  /// Effect of the transactions before the last one, and the record behind which the last page begins.
  struct Begun: Sendable {
    var forgotten = NumberForgotten(verifications: 0, canceled: 0, replies: 0, waiting: 0, counts: 0)
    var behind = ""

    fileprivate mutating func add(_ page: Page) {
      forgotten.verifications += page.verifications
      forgotten.canceled += page.canceled
      behind = page.lastKept ?? behind
    }
  }

  fileprivate struct Page: Sendable {
    var verifications = 0
    var canceled = 0
    var lastKept: String?
  }

  // MARK: Before the transaction

  /// Erases everything but the last page of verifications.
  func begin(_ scope: ErasureScope, _ envelope: Envelope, _ access: StageAccess) async throws(StoreError) -> Begun {
    var begun = Begun()
    while let page = try await forgetPage(of: scope, behind: begun.behind, envelope, access) {
      // What is left must not be reported as erased.
      if Task.isCancelled { throw StoreError(.unavailable, "the erasure was ended before its end") }
      begun.add(page)
    }
    if !scope.isNarrow {
      // The number as it appears in JSON: not as part of a longer number.
      begun.forgotten.replies = try await access.store.forget(repliesContaining: Array("\"\(scope.number)\"".utf8))
    }
    begun.forgotten.waiting = try await forgetAssessments(scope, access)
    if !scope.keepsLimits { begun.forgotten.counts = try await forgetCounts(of: scope.number, access) }
    return begun
  }

  private func forgetPage(
    of scope: ErasureScope, behind id: String, _ envelope: Envelope, _ access: StageAccess
  ) async throws(StoreError) -> Page? {
    try await access.transact { set throws(StoreError) in
      let (found, isLast) = try records.page(ofNumber: scope.number, behind: id, in: set)
      return isLast ? nil : try forget(found, scope, envelope, in: &set)
    }
  }

  private func forgetAssessments(_ scope: ErasureScope, _ access: StageAccess) async throws(StoreError) -> Int {
    var total = 0
    var behind: String? = ""
    while let start = behind {
      let page = try await access.transact { set throws(StoreError) in
        try assessments.remove(scope, behind: start, in: &set)
      }
      total += page.removed
      behind = page.next
    }
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
    _ begun: Begun, _ scope: ErasureScope, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> NumberForgotten {
    var begun = begun
    let page = try records.page(ofNumber: scope.number, behind: begun.behind, in: set)
    begun.add(try forget(page.records, scope, envelope, in: &set))
    return begun.forgotten
  }

  // MARK: Verifications

  private func forget(
    _ found: [Record], _ scope: ErasureScope, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> Page {
    var page = Page()
    for record in found {
      let verification = try? PhoneVerification(record)
      guard scope.includes(verification) else {
        page.lastKept = record.id.text
        continue
      }
      page.verifications += 1
      if let verification, verification.state.isLive {
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
