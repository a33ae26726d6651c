import CountersignMessages

/// Checks the queues for backlogs, missing consumers and dead letters.
enum QueueCheck {
  /// Maximum number of waiting messages; beyond it the consumers do not keep up.
  static let maxReady = 10_000

  static func findings(_ queues: [QueueState]) -> [Finding] {
    TopologyDeclaration.workQueues.flatMap { name -> [Finding] in
      let dead = Topology.Queues.dead(name)
      return work(name, queues.first { $0.name == name }) + deadLetters(name, queues.first { $0.name == dead })
    }
  }

  private static func work(_ name: String, _ state: QueueState?) -> [Finding] {
    // The topology's check reports a missing queue.
    guard let state else { return [] }
    let check = "queue \(name)"
    if isUnused(name, state) { return [Finding(check, .ok, "not in use")] }
    if let consumers = state.consumers, consumers == 0 {
      // A site may do without some of the workers, until jobs for them arrive.
      let isSpare = Topology.Queues.jobs.contains(name) && state.ready == 0
      return [
        Finding(
          check, isSpare ? .warning : .failed, "no consumer; \(state.ready ?? 0) messages wait",
          hint: "start \(consumer(of: name)), or look at its /readyz: it consumes only while it is ready")
      ]
    }
    var findings: [Finding] = []
    if let ready = state.ready, ready > maxReady {
      findings.append(
        Finding(check, .warning, "\(ready) messages wait", hint: "start more of \(consumer(of: name))"))
    }
    // With at-least-once dead-lettering, a message is neither ready nor with a consumer until its dead queue has it.
    let stuck = (state.messages ?? 0) - (state.ready ?? 0) - (state.unacknowledged ?? 0)
    if stuck > 0 {
      findings.append(
        Finding(
          check, .warning, "\(stuck) messages wait to be dead-lettered",
          hint: "countersign topology check: the exchange of the dead letters, or the dead queue, is missing or full"))
    }
    if findings.isEmpty {
      let consumers = state.consumers.map { "\($0) consumers, " } ?? ""
      findings.append(Finding(check, .ok, "\(consumers)\(state.ready ?? 0) messages wait"))
    }
    return findings
  }

  /// Whether it is an idle queue that a site may leave without a consumer: that for SMS that can wait, which the
  /// sms-worker's configuration switches on, and those of `accounts`.
  private static func isUnused(_ name: String, _ state: QueueState) -> Bool {
    let optional = [Topology.Queues.smsBulk] + Topology.Queues.accounts
    return optional.contains(name) && state.consumers == 0 && state.ready == 0
  }

  private static func deadLetters(_ name: String, _ state: QueueState?) -> [Finding] {
    guard let state, let count = state.messages, count > 0 else { return [] }
    return [
      Finding(
        "dead letters of \(name)", .warning, "\(count)",
        hint: "countersign dead list --queue \(name); then fix the cause, and redrive or drop them")
    ]
  }

  private static func consumer(of queue: String) -> String {
    switch queue {
    case Topology.Queues.smsDispatch: "the sms-worker"
    case Topology.Queues.smsBulk: "the sms-worker with bulk.share"
    case Topology.Queues.pushVerify, Topology.Queues.recaptchaAssess: "the push-worker"
    case Topology.Queues.mailRelay: "the mail-worker"
    case Topology.Queues.appleRevoke: "the revocation-worker"
    case _ where Topology.Queues.accounts.contains(queue): "accounts"
    default: "the coordinator"
    }
  }
}

/// State of a queue, from the management API. Counts are absent until the broker has first collected them.
struct QueueState: Sendable, Decodable {
  let name: String
  var messages: Int?
  var ready: Int?
  var unacknowledged: Int?
  var consumers: Int?

  enum CodingKeys: String, CodingKey {
    case name, messages, consumers
    case ready = "messages_ready"
    case unacknowledged = "messages_unacknowledged"
  }
}
