import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct RevocationService: Sendable {
  let records: RevocationRecords
  private let rules: CoordinatorRules
  private let limits: RateLimits
  private let metrics: CoordinatorMetrics

  init(_ rules: CoordinatorRules, limits: RateLimits, metrics: CoordinatorMetrics) {
    self.rules = rules
    self.limits = limits
    self.metrics = metrics
    records = RevocationRecords(policy: rules.revocation)
  }

  func start(
    _ order: RevocationOrder, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    if let known = try records.revocation(ofToken: order.token, in: set), known.isGoodForAll {
      return try CommandAnswer(OperationStarted(known, repeated: true))
    }
    let refusal = try limits.admitRevocation(
      app: order.revocation.app, noticeTo: order.revocation.notice?.email, in: &set)
    if let refusal {
      metrics.count(refusal, in: &set)
      return CommandAnswer(APIError(refusal))
    }
    var revocation = order.revocation
    let actions = revocation.apply(.started, at: set.now, under: rules.revocation)
    try records.add(revocation, of: order.token, in: &set)
    try perform(actions, on: revocation, job: order.job, cause: envelope, in: &set)
    return try CommandAnswer(OperationStarted(revocation, repeated: false))
  }

  /// A report on a deleted revocation changes nothing.
  func handle(
    _ event: RevocationEvent, on id: String, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let revocation = try records.revocation(id, in: set) else { return }
    try apply(event, to: revocation, cause: cause, in: &set)
  }

  func end(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    let revocation = try Revocation(record)
    guard revocation.state.isLive else { return try set.remove(record.id) }
    try apply(.deadlinePassed, to: revocation, cause: nil, in: &set)
  }

  private func apply(
    _ event: RevocationEvent, to before: Revocation, cause: Envelope?, in set: inout WorkingSet
  ) throws(StoreError) {
    var revocation = before
    let actions = revocation.apply(event, at: set.now, under: rules.revocation)
    guard revocation != before else { return }
    try records.put(revocation, in: &set)
    try perform(actions, on: revocation, job: nil, cause: cause, in: &set)
  }

  // MARK: Actions

  private func perform(
    _ actions: [RevocationAction], on revocation: Revocation, job: [UInt8]?, cause: Envelope?,
    in set: inout WorkingSet
  ) throws(StoreError) {
    for action in actions {
      switch action {
      case .revoke:
        guard let job else { throw StoreError(.content, "a revocation is begun without its job") }
        try send(AppleRevokeJob.type, .revoke, job, of: revocation, cause, in: &set)
      case .notify(let notice):
        try send(MailRelayJob.type, .notice, noticeJob(notice, revocation), of: revocation, cause, in: &set)
      case .announceStarted:
        metrics.countRevocation("STARTED", in: &set)
        try announce(OperationStarted(revocation, repeated: false), "started", revocation, cause, in: &set)
      case .announceCompleted:
        metrics.countRevocation((revocation.ending ?? .unknown).rawValue, in: &set)
        try announce(OperationCompleted(revocation, at: set.now), "completed", revocation, cause, in: &set)
      case .announceFailed:
        metrics.countRevocation((revocation.ending ?? .unknown).rawValue, in: &set)
        try announce(OperationFailed(revocation, at: set.now), "failed", revocation, cause, in: &set)
      }
    }
  }

  private func send(
    _ type: MessageType, _ kind: JobName.Kind, _ body: [UInt8], of revocation: Revocation, _ cause: Envelope?,
    in set: inout WorkingSet
  ) throws(StoreError) {
    try set.send(
      .job(
        type, id: JobName(revocation.id, kind).text, correlationID: revocation.id, cause: cause,
        deadline: revocation.expiresAt, body: body, at: set.now))
  }

  private func noticeJob(_ notice: StartRevocation.Notice, _ revocation: Revocation) throws(StoreError) -> [UInt8] {
    try MailRelayJob(
      to: notice.email,
      content: .template(
        name: notice.template ?? rules.revocation.noticeTemplate, languageCode: notice.languageCode,
        variables: MailRelayJob.Variables(appName: rules.profile(revocation.app)?.name)),
      deadline: revocation.expiresAt
    ).written()
  }

  private func announce(
    _ event: some Event, _ name: String, _ revocation: Revocation, _ cause: Envelope?, in set: inout WorkingSet
  ) throws(StoreError) {
    try set.send(
      .event(event, id: "\(revocation.id).\(name)", correlationID: revocation.id, cause: cause, at: set.now))
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
