import CountersignAMQP
import CountersignMessages

/// Authenticates the origin of a result before it is believed.
///
/// The body names a job and its outcome, which any user could write. The broker vouches for the user; each worker's
/// user is responsible for job types of its own; and the users' rights on the exchange of the results are bound to the
/// routing key.
struct ResultOrigin: Sendable {
  enum Verdict: Sendable, Hashable {
    /// A result of a job of ours.
    /// - Parameter outcome: the outcome in its routing key, which the body has to match; `nil` for a result that an
    ///   operator has redriven.
    case ours(outcome: String?)
    /// A result of another sender's job, or of a job that waited in `sms.bulk`: the coordinator sends none there.
    case foreign
  }

  private struct Rule: Sendable {
    /// Part before the outcome in the routing key.
    var prefix: String
    /// The user whose workers carry out the jobs.
    var reporter: String
    var senders: SenderRule
  }

  private let user: String
  private let rules: [MessageType: Rule]
  private let everybody: SenderRule

  /// - Parameter user: our own user of the broker, which sends our jobs.
  init(user: String) {
    self.user = user
    var rules: [MessageType: Rule] = [:]
    for job in [
      SMSDispatchJob.type, PushVerifyJob.type, RecaptchaAssessJob.type, AppleRevokeJob.type, MailRelayJob.type,
    ] {
      let result = JobResult.type(ofJob: job)
      rules[result] = Self.rule(job.name, result)
    }
    rules[SMSDeliveryReport.type] = Self.rule(SMSDeliveryReport.routingKeyPrefix, SMSDeliveryReport.type)
    self.rules = rules
    everybody = .result(reportedBy: rules.values.map(\.reporter))
  }

  /// Names of users are those of the topology: delayed jobs, redriving and the rights on the broker know no others.
  private static func rule(_ prefix: String, _ type: MessageType) -> Rule? {
    Topology.Users.worker(ofResults: type).map {
      Rule(prefix: prefix + ".", reporter: $0, senders: .result(reportedBy: [$0]))
    }
  }

  /// - Throws: the problem of a forged result, which becomes a dead letter: `FORGED_RESULT`.
  func judge(_ delivery: Delivery, _ envelope: Envelope) throws(ContractProblem) -> Verdict {
    guard let rule = rules[envelope.type] else { return .foreign }
    guard let reporter = envelope.userID else {
      throw Self.forged("user_id", "is missing: results are believed from the users of workers only")
    }
    let isRedriven = reporter == Topology.Users.operator
    guard isRedriven || rule.reporter == reporter else {
      throw Self.forged(
        "user_id",
        "is not the user whose workers take jobs of this type: each kind of worker logs in under its own fixed name")
    }
    if !isRedriven {
      let isOfResults = delivery.exchange == Topology.Exchanges.results
      if isOfResults, Self.isBulk(delivery.routingKey, envelope.type) { return .foreign }
      guard isOfResults, delivery.routingKey.hasPrefix(rule.prefix) else {
        throw Self.forged("routing_key", "does not agree with the type")
      }
    }
    guard rule.senders.sender(of: envelope) == user else { return .foreign }
    return .ours(outcome: isRedriven ? nil : String(delivery.routingKey.dropFirst(rule.prefix.count)))
  }

  /// Whether it is the result of a bulk SMS. The binding of an earlier version (`#`) delivers those too, until
  /// `topology apply`.
  private static func isBulk(_ routingKey: String, _ type: MessageType) -> Bool {
    type == bulkResult && routingKey.hasPrefix("\(Topology.Queues.smsBulk).")
  }

  private static let bulkResult = JobResult.type(ofJob: SMSDispatchJob.type)

  /// Sender for the dead letter of a message: for a result the sender of its job, when a worker of that type states it.
  func sender(of message: Message) -> String {
    let rule = message.type.flatMap(MessageType.init(parsing:)).flatMap { rules[$0] }
    return (rule?.senders ?? everybody).sender(of: message)
  }

  /// Checks that a result's body matches its routing key.
  /// - Parameters:
  ///   - expected: the outcome in the routing key; `nil` when there is nothing to compare.
  ///   - outcome: the one in the body.
  static func check(_ expected: String?, says outcome: String) throws(ContractProblem) {
    guard let expected, expected != outcome else { return }
    throw forged("routing_key", "does not agree with the outcome")
  }

  private static func forged(_ field: String, _ detail: String) -> ContractProblem {
    ContractProblem(.forgedResult, field: field, detail)
  }
}

extension ContractProblem.Code {
  /// A result that its user may not report, or under a wrong routing key.
  static let forgedResult = ContractProblem.Code("FORGED_RESULT")
}
