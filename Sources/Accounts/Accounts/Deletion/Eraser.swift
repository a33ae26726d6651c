import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Erasure of the knowledge that other processes have of the user of a deleted account, and the event of its end.
///
/// ```
/// deleted ──> mail.forget, if there was an address
///         ├─> number.forget, each, repeatedly ─┬──> forgotten ────────────┐
///         │                                    └──> kept, after a week ───┤
///         ├─> the grant of Apple's page ───────┬──> revoked ──────────────┼──> account.erased
///         │                                    └──> failed, after a week ─┤
///         └─> neither number nor grant ───────────────────────────────────┘
/// ```
///
/// The requests are stored with the deletion, or with the record that leads to the next one: a crash forgets none.
struct Eraser: Sendable {
  let projects: ProjectsSource
  let replyQueue: String
  let metrics: ErasureMetrics

  /// - Parameters:
  ///   - apple: ending at Apple, of an account without a grant.
  ///   - grant: what is to be revoked there.
  func begin(
    with account: AccountRecord, apple: AccountErased.Apple?, revoking grant: LostGrant?,
    in set: inout WorkingSet
  ) throws(StoreError) {
    try set.forget(account.addresses, of: account, as: "forget")
    guard let erasure = Erasure(of: account, apple: apple, hasGrant: grant != nil, at: set.now) else {
      var event = AccountErased(project: account.project, localID: account.localID, erasedAt: set.now)
      event.apple = apple
      event.mail = account.addresses.isEmpty ? nil : .told
      // An ID that another system gives may be used again.
      return try announce(event, "\(account.id.text).\(set.now.milliseconds)", in: &set)
    }
    if let grant { try GrantRevocation.begin(grant, of: account, erasure: erasure.id, in: &set) }
    try request(erasure, isNew: true, in: &set)
  }

  // MARK: The coordinator

  func becameDue(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    let erasure = try Erasure(record)
    guard set.now < erasure.deletedAt + Erasure.patience else { return try giveUp(erasure, in: &set) }
    try request(erasure, in: &set)
  }

  /// Ends an erasure without those who have not answered.
  func giveUp(_ before: Erasure, in set: inout WorkingSet) throws(StoreError) {
    var erasure = before
    if erasure.knownNumber != nil { erasure.coordinator = .kept }
    if erasure.hasGrant { erasure.apple = erasure.apple ?? .failed }
    try end(erasure, in: &set)
  }

  private func request(_ before: Erasure, isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    guard let number = before.knownNumber else { return try wait(before, isNew: isNew, in: &set) }
    var erasure = before
    erasure.requests += 1
    let dueAt = set.now + erasure.pause
    // A project that is not configured at present may be so again.
    if let project = projects.current[erasure.project] {
      var command = ForgetNumber(phoneNumber: number)
      command.startedBefore = erasure.deletedAt
      command.apps = project.apps.map(\.id).sorted()
      command.keepsLimits = true
      try set.send(
        .command(
          command, id: "\(erasure.id.text).\(erasure.firstRequest)",
          correlationID: AwaitedReply.correlationID(Erasure.kind, erasure.id.text),
          replyTo: replyQueue, cause: nil, deadline: dueAt, at: set.now))
    }
    try wait(erasure, isNew: isNew, until: dueAt, in: &set)
  }

  private func wait(
    _ erasure: Erasure, isNew: Bool = false, until dueAt: UnixTime? = nil, in set: inout WorkingSet
  ) throws(StoreError) {
    let last = erasure.deletedAt + Erasure.patience
    try set.store(
      erasure.id, erasure, isNew: isNew, dueAt: dueAt ?? last, discardAt: erasure.deletedAt + Erasure.patience * 2,
      groupKeys: [Erasure.group(ofProject: erasure.project)])
  }

  func end(atCoordinator record: Record, answering request: Int, in set: inout WorkingSet) throws(StoreError) {
    let before = try Erasure(record)
    var erasure = before
    erasure.forget(answering: request)
    guard erasure != before else { return }
    if erasure.isOver { try end(erasure, in: &set) } else { try self.request(erasure, in: &set) }
  }

  func end(
    atApple ending: AccountErased.Apple, _ record: Record, in set: inout WorkingSet
  ) throws(StoreError) {
    var erasure = try Erasure(record)
    erasure.apple = ending
    if erasure.isOver { try end(erasure, in: &set) } else { try wait(erasure, until: record.dueAt, in: &set) }
  }

  private func end(_ erasure: Erasure, in set: inout WorkingSet) throws(StoreError) {
    var event = AccountErased(project: erasure.project, localID: erasure.localID, erasedAt: set.now)
    event.apple = erasure.apple
    event.coordinator = erasure.coordinator
    event.mail = erasure.hasAddress ? .told : nil
    try announce(event, erasure.id.text, in: &set)
    try set.remove(erasure.id)
  }

  private func announce(_ event: AccountErased, _ id: String, in set: inout WorkingSet) throws(StoreError) {
    metrics.count(event.coordinator == .kept ? .kept : .erased, in: &set)
    try set.send(.event(event, id: "\(id).erased", correlationID: id, cause: nil, at: set.now))
  }
}

/// The coordinator's reply to `number.forget`.
struct ErasureReply: Report {
  private let id: RecordID
  /// ``Erasure/firstRequest`` of the number that it is about.
  private let request: Int
  private let refusal: APIError?
  private let eraser: Eraser

  static func kind(_ type: MessageType, _ eraser: Eraser) -> ReportKind {
    AwaitedReply.kind(type) { received throws(ContractProblem) in try ErasureReply(received, eraser) }
  }

  private init?(_ received: ReceivedReport, _ eraser: Eraser) throws(ContractProblem) {
    guard let id = received.waiting(Erasure.kind),
      let request = received.envelope.causationID?.split(separator: ".").last.flatMap({ Int($0) })
    else { return nil }
    (self.id, self.request, self.eraser) = (id, request, eraser)
    refusal = try received.refusal()
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) { keys.add(record: id) }

  /// After a refusal it is asked again when the record is due: the operator may have changed the configuration.
  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard let record = try set.record(id) else { return }
    guard let refusal else { return try eraser.end(atCoordinator: record, answering: request, in: &set) }
    // One that passes by itself is nothing to change.
    if refusal.retryAfter == nil { eraser.metrics.count(refusal, in: &set) }
  }
}
