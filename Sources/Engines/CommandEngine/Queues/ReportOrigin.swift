import CountersignAMQP
import CountersignMessages

/// Authenticates the origin of a report before it is believed.
///
/// The body names a job and its outcome, which any user could write. The broker vouches for the user; each worker's
/// user is responsible for job types of its own; and the users' rights on the exchange of the results are bound to the
/// routing key. A service answers this one's commands under its own user.
struct ReportOrigin: Sendable {
  enum Verdict: Sendable {
    /// A report on a job of ours, or the reply to a command of ours.
    /// - Parameters:
    ///   - kinds: the kinds of its type that its user may send.
    ///   - outcome: the outcome in its routing key, which the body has to match; `nil` for a report that an operator
    ///     has redriven, and for the reply of a service.
    case ours([ReportKind], outcome: String?)
    /// A result of another sender's job, or of a job that waited in `sms.bulk`: this service sends none there.
    case foreign
  }

  private struct Rule: Sendable {
    var kind: ReportKind
    /// Part before the outcome in the routing key; `nil` for the reply of a service.
    var prefix: String?
    /// The user whose workers carry out the jobs, or the service.
    var reporter: String
    var senders: SenderRule
  }

  private let user: String
  private let rules: [MessageType: [Rule]]
  private let everybody: SenderRule

  /// - Parameters:
  ///   - kinds: the reports of all flows.
  ///   - user: our own user of the broker, which sends our jobs.
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
    case .service(let user): Rule(kind: kind, prefix: nil, reporter: user, senders: .queue(consumedBy: user))
    }
  }

  /// - Throws: the problem of a forged report, which becomes a dead letter: `FORGED_RESULT`.
  func judge(_ delivery: Delivery, _ envelope: Envelope) throws(ContractProblem) -> Verdict {
    guard let all = rules[envelope.type] else { return .foreign }
    guard let reporter = envelope.userID else {
      throw Self.forged("user_id", "is missing: results are believed from the users of workers only")
    }
    let isRedriven = reporter == Topology.Users.operator
    let believed = isRedriven ? all : all.filter { $0.reporter == reporter }
    guard let rule = believed.first else {
      throw Self.forged(
        "user_id",
        "is not the user whose workers take jobs of this type: each kind of worker logs in under its own fixed name")
    }
    let kinds = believed.map(\.kind)
    guard let prefix = rule.prefix else { return .ours(kinds, outcome: nil) }
    if !isRedriven {
      let isOfResults = delivery.exchange == Topology.Exchanges.results
      if isOfResults, Self.isBulk(delivery.routingKey, envelope.type) { return .foreign }
      guard isOfResults, delivery.routingKey.hasPrefix(prefix) else {
        throw Self.forged("routing_key", "does not agree with the type")
      }
    }
    guard rule.senders.sender(of: envelope) == user else { return .foreign }
    return .ours(kinds, outcome: isRedriven ? nil : String(delivery.routingKey.dropFirst(prefix.count)))
  }

  /// Whether it is the result of a bulk SMS. The binding of an earlier version (`#`) delivers those too, until
  /// `topology apply`.
  private static func isBulk(_ routingKey: String, _ type: MessageType) -> Bool {
    type == bulkResult && routingKey.hasPrefix("\(Topology.Queues.smsBulk).")
  }

  private static let bulkResult = JobResult.type(ofJob: SMSDispatchJob.type)

  /// Sender for the dead letter of a message: for a result the sender of its job, when a worker of that type states it.
  func sender(of message: Message) -> String {
    let rule = message.type.flatMap(MessageType.init(parsing:)).flatMap { rules[$0]?.first }
    return (rule?.senders ?? everybody).sender(of: message)
  }

  private static func forged(_ field: String, _ detail: String) -> ContractProblem {
    ContractProblem(.forgedResult, field: field, detail)
  }
}
