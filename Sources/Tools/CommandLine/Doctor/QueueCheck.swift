import CountersignMessages

enum QueueCheck {
  /// Beyond it the consumers do not keep up.
  static let maxReady = 10_000

  static func findings(_ queues: [QueueState], inUse: Set<String>) -> [Finding] {
    TopologyDeclaration.workQueues.flatMap { name -> [Finding] in
      let dead = Topology.Queues.dead(name)
      return work(name, queues.first { $0.name == name }, inUse) + deadLetters(name, queues.first { $0.name == dead })
    }
  }

  /// Delayed jobs whose delay is over and that have not come back.
  static func delays(_ queues: [QueueState]) -> [Finding] {
    queues.filter { $0.name.hasPrefix(Topology.Queues.retryPrefix) && $0.stuck > 0 }.map { state in
      Finding(
        "queue \(state.name)", .warning, "\(state.stuck) delayed jobs cannot return to their work queue",
        hint: "a work queue is full or missing: countersign topology check; start more of its workers",
        needs: [[.topology]])
    }
  }

  private static func work(_ name: String, _ state: QueueState?, _ inUse: Set<String>) -> [Finding] {
    // The topology's check reports a missing queue.
    guard let state else { return [] }
    let check = "queue \(name)"
    if isUnused(name, state, inUse) { return [Finding(check, .ok, "not in use")] }
    if let consumers = state.consumers, consumers == 0 {
      return [
        Finding(
          check, .failed, "no consumer; \(state.ready ?? 0) messages wait",
          hint: "start \(consumer(of: name)), or look at its /readyz: it consumes only while it is ready",
          needs: [Topology.Users.consumer(of: name).map { [.process($0)] } ?? []])
      ]
    }
    var findings: [Finding] = []
    if let ready = state.ready, ready > maxReady {
      // One webhook-worker at a time takes events.
      let hint =
        name == Topology.Queues.webhookEvents
        ? "look at \(consumer(of: name))'s /readyz, log and disk: its database takes events too slowly"
        : "start more of \(consumer(of: name))"
      findings.append(Finding(check, .warning, "\(ready) messages wait", hint: hint))
    }
    // With at-least-once dead-lettering, a message is neither ready nor with a consumer until its dead queue has it.
    if state.stuck > 0 {
      findings.append(
        Finding(
          check, .warning, "\(state.stuck) messages wait to be dead-lettered",
          hint: "countersign topology check: the exchange of the dead letters, or the dead queue, is missing or full"))
    }
    if findings.isEmpty {
      let consumers = state.consumers.map { "\($0) consumers, " } ?? ""
      findings.append(Finding(check, .ok, "\(consumers)\(state.ready ?? 0) messages wait"))
    }
    return findings
  }

  /// Whether nothing here consumes the queue and nothing has to: its process is not in use, or, for SMS that can wait,
  /// not configured to take them.
  private static func isUnused(_ name: String, _ state: QueueState, _ inUse: Set<String>) -> Bool {
    guard state.consumers == 0, state.ready == 0 else { return false }
    return name == Topology.Queues.smsBulk || Topology.Users.consumer(of: name).map(inUse.contains) == false
  }

  private static func deadLetters(_ name: String, _ state: QueueState?) -> [Finding] {
    guard let state, let count = state.messages, count > 0 else { return [] }
    return [
      Finding(
        "dead letters of \(name)", .warning, "\(count)",
        hint: "countersign dead list --queue \(name); then fix the cause, and redrive or drop them",
        needs: [Topology.Users.consumer(of: name).map { [.keys($0)] } ?? []])
    ]
  }

  private static func consumer(of queue: String) -> String {
    switch queue {
    case Topology.Queues.smsDispatch: "the sms-worker"
    case Topology.Queues.smsBulk: "the sms-worker with bulk.share"
    case Topology.Queues.pushVerify, Topology.Queues.recaptchaAssess: "the push-worker"
    case Topology.Queues.mailRelay, Topology.Queues.mailForget: "the mail-worker"
    case Topology.Queues.appleRevoke: "the revocation-worker"
    case _ where Topology.Queues.accounts.contains(queue): "accounts"
    case _ where Topology.Queues.webhooks.contains(queue): "the webhook-worker"
    default: "the coordinator"
    }
  }
}

/// Counts are absent until the broker has first collected them.
struct QueueState: Sendable, Decodable {
  let name: String
  var messages: Int?
  var ready: Int?
  var unacknowledged: Int?
  var consumers: Int?

  /// Messages that are neither ready nor with a consumer: with at-least-once dead-lettering, those that their next
  /// queue does not take.
  var stuck: Int { max(0, (messages ?? 0) - (ready ?? 0) - (unacknowledged ?? 0)) }

  enum CodingKeys: String, CodingKey {
    case name, messages, consumers
    case ready = "messages_ready"
    case unacknowledged = "messages_unacknowledged"
  }
}
