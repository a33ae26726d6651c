import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Revocation of grants by the coordinator, again and again until Apple has heard of it.
///
/// ```
/// identity gone ──┬──> given to the account that has the identity by now
///                 └──> revocation.start <──────────────┬──┐
///                           │    └──> refused, no reply┘  │
///                           └──> looks ──┬──> not reached ┘
///                                        ├──> revoked
///                                        └──> failed: Apple refuses it, or a week is over
/// ```
struct GrantFlow: Flow {
  let projects: ProjectsSource
  let eraser: Eraser
  /// Its keys open what the coordinator opens.
  let sealer: Sealer
  let grants: GrantSealer
  private let tickets: Tickets
  let replyQueue: String
  let metrics: GrantMetrics
  private let upkeep: SealUpkeep

  init(_ parts: AccountParts) {
    projects = parts.rules.projects
    eraser = parts.deletion.eraser
    sealer = parts.sealer
    grants = parts.grants
    tickets = parts.reader.tickets
    replyQueue = parts.replyQueue
    metrics = GrantMetrics(parts.metrics, logger: parts.logger)
    upkeep = SealUpkeep(grants: parts.grants, secrets: parts.sharedSecrets, logger: parts.logger)
  }

  var reports: [ReportKind] {
    [OperationStarted.type, OperationStatus.type, ErrorReply.type].map { GrantReply.kind($0, self) }
  }

  var tasks: [FlowTask] {
    [
      FlowTask(MaintenancePart(rawValue: "seal_grants")) { [upkeep] store, now throws(StoreError) in
        try await upkeep.run(store, at: now)
      }
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(GrantRevocation.kind, part: MaintenancePart(rawValue: "revoke_grants")) {
        [self] record, set throws(StoreError) in
        let revocation = try GrantRevocation(record)
        guard set.now < revocation.beganAt + GrantRevocation.patience else {
          return try end(revocation, .failed, in: &set)
        }
        try step(revocation, in: &set)
      },
      DueRecords(Ticket.kind, part: MaintenancePart(rawValue: "end_pending_tokens")) {
        [tickets] record, set throws(StoreError) in
        let unused: OpenTicket<ProvenIdentity>? = try tickets.content(of: record, .pendingCredential)
        if let unused, let grant = unused.content.grant {
          try GrantRevocation.begin(
            LostGrant(grant: grant, subject: unused.content.subject), of: unused.ticket.project, as: record.id.text,
            in: &set)
        }
        try set.remove(record.id)
      },
    ]
  }

  /// Starts the operation, or looks at it.
  func step(_ before: GrantRevocation, in set: inout WorkingSet) throws(StoreError) {
    if before.operationID == nil, try giveBack(before, in: &set) { return }
    var revocation = before
    let next = revocation.advance(at: set.now)
    if let operationID = revocation.operationID {
      try send(GetOperationStatus(operationID: operationID), next, of: revocation, in: &set)
    } else if let app = projects.current[revocation.project]?.app(revoking: revocation.grant) {
      if let token = grants.open(revocation.grant) {
        try send(start(revocation.grant, token, app: app, id: next.messageID), next, of: revocation, in: &set)
      } else {
        metrics.count(refusal: "UNKNOWN_TOKEN_KEY", in: &set)
      }
    }
    // A project that is not configured at present may be so again, and a key that is missing may come back.
    try revocation.store(dueAt: next.dueAt, in: &set)
  }

  /// Gives the grant to the account that has its identity by now: at Apple, a revocation ends what the user has allowed,
  /// that account's own grant with it.
  /// - Returns: whether there is such an account.
  private func giveBack(_ revocation: GrantRevocation, in set: inout WorkingSet) throws(StoreError) -> Bool {
    let provider = AppleRevocation.provider
    guard let subject = revocation.subject else { return false }
    let key = try AccountRecord.key(ofIdentity: subject, at: provider, project: revocation.project)
    guard var account = try AccountRecord.find(holderOf: key, in: set) else { return false }
    if let present = account.identity(at: provider)?.grant {
      // Another client's does not end with it. One of the same client is the later one, and ends both.
      guard present.clientID == revocation.grant.clientID else { return false }
    } else {
      account.take(revocation.grant, at: provider)
      try account.store(in: &set)
    }
    metrics.countReturn(in: &set)
    try finish(revocation, .notTold, in: &set)
    return true
  }

  private func start(
    _ grant: ProviderGrant, _ token: Secret, app: String, id: String
  ) throws(StoreError) -> StartRevocation {
    let context = SealContext(messageType: StartRevocation.type, messageID: id, recipient: app)
    do throws(SealError) {
      let sealed = try sealer.seal(token, for: context)
      return StartRevocation(
        app: app, clientID: grant.clientID == app ? nil : grant.clientID, token: .refreshToken(sealed))
    } catch {
      throw StoreError(.content, "the token of a revocation \(error)")
    }
  }

  private func send(
    _ command: some Command, _ next: (messageID: String, dueAt: UnixTime), of revocation: GrantRevocation,
    in set: inout WorkingSet
  ) throws(StoreError) {
    try set.send(
      .command(
        command, id: next.messageID,
        correlationID: AwaitedReply.correlationID(GrantRevocation.kind, revocation.id.text), replyTo: replyQueue,
        cause: nil, deadline: next.dueAt, at: set.now))
  }

  func end(
    _ revocation: GrantRevocation, _ ending: AccountErased.Apple, in set: inout WorkingSet
  ) throws(StoreError) {
    metrics.count(ending, in: &set)
    try finish(revocation, ending, in: &set)
  }

  private func finish(
    _ revocation: GrantRevocation, _ ending: AccountErased.Apple, in set: inout WorkingSet
  ) throws(StoreError) {
    try set.remove(revocation.id)
    guard let id = revocation.erasure.flatMap({ RecordID(Erasure.kind, $0) }) else { return }
    var keys = StoreKeys()
    keys.add(record: id)
    try set.require(keys)
    if let record = try set.record(id) { try eraser.end(atApple: ending, record, in: &set) }
  }
}

/// The coordinator's reply to the start of a revocation, or to a look at its operation.
struct GrantReply: Report {
  private let id: RecordID
  private let content: OperationReply
  private let flow: GrantFlow

  static func kind(_ type: MessageType, _ flow: GrantFlow) -> ReportKind {
    AwaitedReply.kind(type) { received throws(ContractProblem) in try GrantReply(received, flow) }
  }

  private init?(_ received: ReceivedReport, _ flow: GrantFlow) throws(ContractProblem) {
    guard let id = received.waiting(GrantRevocation.kind) else { return nil }
    (self.id, self.flow, content) = (id, flow, try OperationReply(received))
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) { keys.add(record: id) }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard let record = try set.record(id) else { return }
    var revocation = try GrantRevocation(record)
    switch content {
    case .started(let operation):
      // A reply that comes again would begin another row of looks.
      guard revocation.operationID == nil else { return }
      revocation.operationID = operation.id
      if let subject = revocation.subject {
        try SubjectRevocations.note(operation, of: subject, project: revocation.project, in: &set)
      }
      try flow.step(revocation, in: &set)
    case .state(let status):
      guard status.operationID == revocation.operationID, status.kind == .appleRevocation else { return }
      try take(status, &revocation, in: &set)
    case .refused(let error):
      if error.retryAfter == nil { flow.metrics.count(refusal: error.reason ?? error.code.rawValue, in: &set) }
      // The coordinator may have forgotten the operation.
      guard error.retryAfter == nil, revocation.operationID != nil else { return }
      let dueAt = revocation.startOver(at: set.now)
      try revocation.store(dueAt: dueAt, in: &set)
    }
  }

  private func take(
    _ status: OperationStatus, _ revocation: inout GrantRevocation, in set: inout WorkingSet
  ) throws(StoreError) {
    switch status.state {
    case .completed: try flow.end(revocation, .revoked, in: &set)
    case .failed:
      let reason = status.failure?.code ?? status.ending?.rawValue ?? "UNKNOWN"
      flow.metrics.count(refusal: reason, in: &set)
      guard status.ending != .refused || reason == Self.unknownClient else {
        return try flow.end(revocation, .failed, in: &set)
      }
      // Apple was not asked, or did not answer: to ask once more is harmless.
      let dueAt = revocation.startOver(at: set.now)
      try revocation.store(dueAt: dueAt, in: &set)
    // It is looked at again when the record is due.
    default: break
    }
  }

  /// Reason of the worker, which has no lane for the client yet.
  private static let unknownClient = "UNKNOWN_CLIENT"
}

/// Metrics and log of the revocation of grants.
struct GrantMetrics: Sendable {
  private let outcomes: MetricFamily<Counter>
  private let logger: Logger

  init(_ registry: MetricsRegistry, logger: Logger) {
    self.logger = logger
    outcomes = registry.counter(
      "countersign_grant_revocations_total",
      "Revocations of refresh tokens that accounts kept: revoked, failed (for good), refused (and tried again), returned (to an account that has the identity anew).",
      labels: ["outcome"])
    // An alert must see the first.
    for outcome in ["revoked", "failed", "refused", "returned"] { _ = outcomes.with(outcome) }
  }

  func count(_ ending: AccountErased.Apple, in set: inout WorkingSet) {
    set.afterCommit { [outcomes] in outcomes.with(ending.rawValue).increment() }
  }

  func countReturn(in set: inout WorkingSet) {
    set.afterCommit { [outcomes] in outcomes.with("returned").increment() }
  }

  func count(refusal reason: String, in set: inout WorkingSet) {
    set.afterCommit { [outcomes, logger] in
      outcomes.with("refused").increment()
      logger.warning(
        "a kept token of Sign in with Apple is not revoked yet: compare tokenKeysFile, and the lanes of the revocation-worker",
        [.reason: reason])
    }
  }
}

extension Project {
  /// The app that the coordinator is asked in the name of. The lane of the client has to serve it.
  func app(revoking grant: ProviderGrant) -> String? {
    (grant.app.flatMap(app(id:)) ?? app(id: grant.clientID) ?? apps.first { $0.platform == .web } ?? apps.first)?.id
  }
}
