internal import CountersignMessages

/// Looks at what lies in the queues, and whether anybody takes it.
enum QueueCheck {
  /// Messages that wait; more means that the consumers do not keep up.
  static let manyReady = 10_000

  static func findings(_ queues: [QueueState]) -> [Finding] {
    Topology.Queues.work.flatMap { name -> [Finding] in
      let dead = Topology.Queues.dead(name)
      return work(name, queues.first { $0.name == name }) + deadLetters(name, queues.first { $0.name == dead })
    }
  }

  private static func work(_ name: String, _ state: QueueState?) -> [Finding] {
    // That it is missing is told with the topology.
    guard let state else { return [] }
    let check = "queue \(name)"
    if isUnused(name, state) { return [Finding(check, .ok, "nobody consumes it, and nothing waits")] }
    if let consumers = state.consumers, consumers == 0 {
      // A site may do without some of the workers; that shows when somebody asks for their work.
      let isSpare = Topology.Queues.jobs.contains(name) && state.ready == 0
      return [
        Finding(
          check, isSpare ? .warning : .failed, "nobody consumes it; \(state.ready ?? 0) messages wait",
          mend: "start the \(consumer(of: name)), or look at its /readyz: it consumes only when all it needs is there")
      ]
    }
    var findings: [Finding] = []
    if let ready = state.ready, ready > manyReady {
      findings.append(
        Finding(check, .warning, "\(ready) messages wait", mend: "start more of the \(consumer(of: name))"))
    }
    // A message that is dead-lettered at least once is neither ready nor with a consumer until its dead queue has it.
    let stuck = (state.messages ?? 0) - (state.ready ?? 0) - (state.unacknowledged ?? 0)
    if stuck > 0 {
      findings.append(
        Finding(
          check, .warning, "\(stuck) messages wait to be dead-lettered",
          mend: "countersign topology check: the exchange of the dead letters, or the dead queue, is missing or full"))
    }
    if findings.isEmpty {
      let consumers = state.consumers.map { "\($0) consumers, " } ?? ""
      findings.append(Finding(check, .ok, "\(consumers)\(state.ready ?? 0) messages wait"))
    }
    return findings
  }

  /// The queue for messages that can wait is switched on by the sms-worker's configuration.
  private static func isUnused(_ name: String, _ state: QueueState) -> Bool {
    name == Topology.Queues.smsBulk && state.consumers == 0 && state.ready == 0
  }

  private static func deadLetters(_ name: String, _ state: QueueState?) -> [Finding] {
    guard let state, let count = state.messages, count > 0 else { return [] }
    return [
      Finding(
        "dead letters of \(name)", .warning, "\(count)",
        mend: "countersign dead list --queue \(name); then mend the cause, and redrive or drop them")
    ]
  }

  private static func consumer(of queue: String) -> String {
    switch queue {
    case Topology.Queues.smsDispatch: "sms-worker"
    case Topology.Queues.smsBulk: "sms-worker with bulk.share"
    case Topology.Queues.pushVerify, Topology.Queues.recaptchaAssess: "push-worker"
    case Topology.Queues.mailRelay: "mail-worker"
    case Topology.Queues.appleRevoke: "revocation-worker"
    default: "coordinator"
    }
  }
}
