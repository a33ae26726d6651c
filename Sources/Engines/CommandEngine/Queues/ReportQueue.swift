import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import RecordStore
import Synchronization

/// Checks where a report comes from, reads it, and applies it to its operation, in this order for each batch.
struct ReportQueue: BatchQueue {
  typealias Prepared = (report: any Report, cause: Envelope)

  private let context: EngineContext
  private let origin: ReportOrigin
  private let foreign: ForeignReports

  init(_ context: EngineContext) {
    self.context = context
    origin = ReportOrigin(context.registry.reportKinds, user: context.author.userID)
    foreign = ForeignReports(context)
  }

  var queue: String { context.rules.reportQueue }

  func sender(of message: Message) -> String { origin.sender(of: message) }

  // MARK: Decode

  func prepare(_ delivery: Delivery, at now: UnixTime, isNew: Bool) -> BatchStep<Prepared> {
    do throws(ContractProblem) {
      guard let read = try self.read(delivery) else { return .end(.nothing) }
      return .transaction(read)
    } catch {
      if error.code == .forgedResult { context.metrics.forgedResults.increment() }
      return .end(Conclusion(dead: DeadReason(code: error.code.rawValue, text: error.description)))
    }
  }

  private func read(_ delivery: Delivery) throws(ContractProblem) -> Prepared? {
    let envelope = try Envelope(delivery)
    if let events = context.registry.events {
      return (try event(of: events, envelope, delivery.message.body), envelope)
    }
    guard !isForeign(envelope.type) else {
      foreign.note(envelope.type)
      return nil
    }
    try envelope.expect(context.registry.reportTypes)
    guard case .ours(let kinds, let outcome) = try origin.judge(delivery, envelope) else {
      foreign.note(envelope.type)
      return nil
    }
    let received = ReceivedReport(envelope: envelope, body: delivery.message.body, outcome: outcome)
    for kind in kinds {
      if let report = try kind.read(received) { return (report, envelope) }
    }
    return nil
  }

  /// An event, which the operator may have published again.
  private func event(
    of kind: EventKind, _ envelope: Envelope, _ body: [UInt8]
  ) throws(ContractProblem) -> any Report {
    guard let user = envelope.userID, kind.users.contains(user) || user == Topology.Users.operator else {
      throw ContractProblem(.forgedResult, field: "user_id", "is not the user of a service whose events these are")
    }
    return try kind.read(ReceivedReport(envelope: envelope, body: body))
  }

  /// An unknown version of a known type is not foreign: it may belong to a job of ours.
  private func isForeign(_ type: MessageType) -> Bool {
    Self.suffixes.contains(where: type.name.hasSuffix)
      && !context.registry.reports.keys.contains { $0.name == type.name }
  }

  private static let suffixes = [".result", ".\(JobDelayed.word)"]

  // MARK: Apply

  func addFirstKeys(of read: Prepared, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try read.report.addFirstKeys(to: &keys, at: now)
  }

  func process(_ read: Prepared, in set: inout WorkingSet) throws(StoreError) -> Conclusion {
    try read.report.apply(cause: read.cause, in: &set)
    return .nothing
  }

  func giveUp(_ read: Prepared, at now: UnixTime) -> Conclusion {
    Conclusion(dead: DeadReason(code: "INTERNAL_ERROR", text: "the result cannot be stored"))
  }

  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion {
    Conclusion(dead: .crashed)
  }
}

/// The results of a job type arrive in one queue, from any sender. Foreign ones are counted and acknowledged, since
/// dead letters would bury the important ones.
final class ForeignReports: Sendable {
  private let context: (metrics: EngineMetrics, logger: Logger, clock: any WallClock)
  private let lastNote = Mutex<UnixTime?>(nil)

  /// Interval of log entries: there may be millions.
  static let notePause = Duration.seconds(600)

  init(_ context: EngineContext) {
    self.context = (context.metrics, context.logger, context.clock)
  }

  func note(_ type: MessageType) {
    context.metrics.foreignResults.increment()
    let now = context.clock.now()
    let isDue = lastNote.withLock { last in
      if let last, now < last + Self.notePause, last <= now { return false }
      last = now
      return true
    }
    guard isDue else { return }
    context.logger.info("results of other senders' jobs are passed over", ["type": "\(type.text)"])
  }
}

/// Any user could write the body. The broker vouches for the user, each worker's user is responsible for its job types,
/// and rights bind users to routing keys. A reply of the operator is accepted only as a republished one of the service
/// that `x-sender` states.
struct ReportOrigin: Sendable {
  enum Verdict: Sendable {
    /// A report on a job of ours, or the reply to a command of ours.
    case ours([ReportKind], outcome: String?)
    /// A result of another sender's job.
    case foreign
  }

  private struct Rule: Sendable {
    var kind: ReportKind
    /// Part before the outcome in the routing key. `nil` for the reply of a service.
    var prefix: String?
    /// The user whose workers carry out the jobs, or the service.
    var reporter: String
    var senders: SenderRule

    /// Whether its user published a report, or the operator did who publishes it again.
    func believes(_ envelope: Envelope) -> Bool {
      guard prefix != nil else { return senders.sender(of: envelope) == reporter }
      return envelope.userID == reporter || envelope.userID == Topology.Users.operator
    }
  }

  private let user: String
  private let rules: [MessageType: [Rule]]
  private let everybody: SenderRule

  init(_ kinds: [ReportKind], user: String) {
    self.user = user
    rules = Dictionary(grouping: kinds.compactMap(Self.rule), by: \.kind.type)
    everybody = .result(reportedBy: rules.values.flatMap(\.self).filter { $0.prefix != nil }.map(\.reporter))
  }

  /// Names of workers' users are those of the topology: delayed jobs, redriving and the rights on the broker know no
  /// others.
  private static func rule(_ kind: ReportKind) -> Rule? {
    switch kind.origin {
    case .worker(let prefix):
      Topology.Users.worker(ofResults: kind.type).map {
        Rule(kind: kind, prefix: prefix + ".", reporter: $0, senders: .result(reportedBy: [$0]))
      }
    case .service(let user): Rule(kind: kind, prefix: nil, reporter: user, senders: .queue(consumedBy: nil))
    }
  }

  func judge(_ delivery: Delivery, _ envelope: Envelope) throws(ContractProblem) -> Verdict {
    guard let all = rules[envelope.type] else { return .foreign }
    guard let reporter = envelope.userID else {
      throw Self.forged("user_id", "is missing: reports are believed from the users of workers and services only")
    }
    let isRedriven = reporter == Topology.Users.operator
    let believed = all.filter { $0.believes(envelope) }
    guard let rule = believed.first else {
      throw Self.forged(
        "user_id",
        all.first?.prefix == nil
          ? "is not the user of the service that answers with this type"
          : "is not the user whose workers take jobs of this type: each kind of worker logs in under its own fixed name"
      )
    }
    let kinds = believed.map(\.kind)
    guard let prefix = rule.prefix else { return .ours(kinds, outcome: nil) }
    if !isRedriven {
      guard delivery.exchange == Topology.Exchanges.results, delivery.routingKey.hasPrefix(prefix) else {
        throw Self.forged("routing_key", "does not agree with the type")
      }
    }
    guard rule.senders.sender(of: envelope) == user else { return .foreign }
    return .ours(kinds, outcome: isRedriven ? nil : String(delivery.routingKey.dropFirst(prefix.count)))
  }

  /// Sender for the dead letter of a message: for a result the sender of its job, when a worker of that type states it.
  func sender(of message: Message) -> String {
    let rule = message.type.flatMap(MessageType.init(parsing:)).flatMap { rules[$0]?.first }
    return (rule?.senders ?? everybody).sender(of: message)
  }

  private static func forged(_ field: String, _ detail: String) -> ContractProblem {
    ContractProblem(.forgedResult, field: field, detail)
  }
}
