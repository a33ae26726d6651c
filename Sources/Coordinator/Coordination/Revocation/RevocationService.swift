import CountersignMessages
import CountersignTelemetry
import SQLite

/// Handles revocations: starts them, applies workers' reports, and gives them up when none arrives.
struct RevocationService: Sendable {
  private let rules: CoordinatorRules
  private let jobs: RevocationJobs
  private let limits: RateLimits

  init(_ rules: CoordinatorRules, jobs: RevocationJobs, limits: RateLimits) {
    self.rules = rules
    self.jobs = jobs
    self.limits = limits
  }

  /// The worker that reports.
  enum Stage: Sendable {
    case revoke, notice
  }

  func start(
    _ order: RevocationOrder, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    if let known = try transaction.revocation(ofToken: order.token)?.content, known.isGoodForAll {
      return try CommandAnswer(OperationStarted(known, repeated: true))
    }
    let refusal = try limits.admitRevocation(
      app: order.app.id, noticeTo: order.revocation.notice?.email, at: transaction.now, in: transaction)
    if let refusal {
      transaction.counts.refusals.append(refusal.scope)
      return CommandAnswer(APIError(refusal))
    }
    var revocation = order.revocation
    let actions = revocation.apply(.started, at: transaction.now, under: rules.revocation)
    try transaction.add(revocation, under: rules.revocation)
    try perform(actions, on: revocation, job: order.job, cause: request.envelope, in: transaction)
    return try CommandAnswer(OperationStarted(revocation, repeated: false))
  }

  /// Applies a worker's report. A report on a deleted revocation changes nothing.
  func handle(
    _ report: JobReport, _ stage: Stage, on id: String, cause: Envelope,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard let stored = try transaction.revocation(id) else { return }
    let event: RevocationEvent =
      switch stage {
      case .revoke: .revokeFinished(report)
      case .notice: .noticeFinished(report)
      }
    try apply(event, to: stored, cause: cause, in: transaction)
  }

  /// Ends a revocation whose workers no longer report.
  func expire(
    _ stored: Stored<Revocation>, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    try apply(.deadlinePassed, to: stored, cause: nil, in: transaction)
  }

  private func apply(
    _ event: RevocationEvent, to stored: Stored<Revocation>, cause: Envelope?,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    var stored = stored
    let before = stored.content
    let actions = stored.content.apply(event, at: transaction.now, under: rules.revocation)
    guard stored.content != before else { return }
    try transaction.store(stored, under: rules.revocation)
    try perform(actions, on: stored.content, job: nil, cause: cause, in: transaction)
  }

  // MARK: Actions

  private func perform(
    _ actions: [RevocationAction], on revocation: Revocation, job: [UInt8]?, cause: Envelope?,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    for action in actions {
      switch action {
      case .revoke:
        guard let job else { throw DatabaseError(.content, "a revocation is begun without its job") }
        enqueue(AppleRevokeJob.type, .revoke, job, of: revocation, cause, in: transaction)
      case .notify(let notice):
        let body = try notification(notice, of: revocation)
        enqueue(MailRelayJob.type, .notice, body, of: revocation, cause, in: transaction)
      case .announceStarted:
        transaction.counts.operations.append(OperationCount(kind: .appleRevocation, ending: "STARTED"))
        try announce(OperationStarted(revocation, repeated: false), "started", revocation, cause, in: transaction)
      case .announceCompleted:
        count(revocation, in: transaction)
        try announce(
          OperationCompleted(revocation, at: transaction.now), "completed", revocation, cause, in: transaction)
      case .announceFailed:
        count(revocation, in: transaction)
        try announce(OperationFailed(revocation, at: transaction.now), "failed", revocation, cause, in: transaction)
      }
    }
  }

  private func enqueue(
    _ type: MessageType, _ kind: JobName.Kind, _ body: [UInt8], of revocation: Revocation, _ cause: Envelope?,
    in transaction: CoordinatorTransaction
  ) {
    transaction.enqueue(
      .job(
        type, JobName(revocation.id, kind), correlationID: revocation.id, causationID: cause?.messageID,
        trace: cause?.trace, deadline: revocation.expiresAt, body: body, at: transaction.now))
  }

  private func notification(
    _ notice: StartRevocation.Notice, of revocation: Revocation
  ) throws(DatabaseError) -> [UInt8] {
    try jobs.notice(
      notice, template: rules.revocation.noticeTemplate, appName: rules.apps[revocation.app]?.name,
      deadline: revocation.expiresAt)
  }

  private func announce(
    _ event: some Event, _ name: String, _ revocation: Revocation, _ cause: Envelope?,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    try transaction.enqueue(event, id: "\(revocation.id).\(name)", correlationID: revocation.id, cause: cause)
  }

  private func count(_ revocation: Revocation, in transaction: CoordinatorTransaction) {
    transaction.counts.operations.append(
      OperationCount(kind: .appleRevocation, ending: revocation.ending?.rawValue ?? OperationEnding.unknown.rawValue))
  }
}

extension OperationStarted {
  init(_ revocation: Revocation, repeated: Bool) {
    self.init(
      operationID: revocation.id, kind: .appleRevocation, app: revocation.app, startedAt: revocation.createdAt,
      repeated: repeated)
  }
}

extension OperationCompleted {
  fileprivate init(_ revocation: Revocation, at now: UnixTime) {
    self.init(
      operationID: revocation.id, kind: .appleRevocation, app: revocation.app, completedAt: revocation.endedAt ?? now,
      ending: revocation.ending ?? .revoked,
      failure: revocation.failure.map { .init(code: $0.code, detail: $0.detail) })
  }
}

extension OperationFailed {
  fileprivate init(_ revocation: Revocation, at now: UnixTime) {
    self.init(
      operationID: revocation.id, kind: .appleRevocation, app: revocation.app, failedAt: revocation.endedAt ?? now,
      ending: revocation.ending ?? .unknown,
      failure: .init(code: revocation.failure?.code ?? "UNKNOWN", detail: revocation.failure?.detail))
  }
}

extension OperationStatus {
  init(_ revocation: Revocation) {
    let state: State =
      switch revocation.state {
      case .revoking, .notifying: .running
      case .completed: .completed
      case .failed: .failed
      }
    self.init(
      operationID: revocation.id, kind: .appleRevocation, app: revocation.app, state: state,
      failure: revocation.failure.map { .init(code: $0.code, detail: $0.detail) }, startedAt: revocation.createdAt,
      expiresAt: revocation.expiresAt, timeline: revocation.timeline.entries.map(VerificationStatus.Entry.init))
    ending = revocation.ending
  }
}
