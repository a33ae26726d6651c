import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct WebhookParts: Sendable {
  let rules: WebhookRules
  let secrets: WebhookSecrets
  let metrics: WebhookMetrics
  let clock: any WallClock
  let logger: Logger
  /// Webhooks that have something to send.
  let wakes: Wakes
}

/// Webhooks, and the events that wait for their delivery.
struct WebhookFlow: Flow {
  let parts: WebhookParts

  var commands: [CommandKind] {
    [
      CommandKind(AddWebhook.self, users: .operators, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try AddWebhookOrder(command, envelope, parts)
      },
      CommandKind(ListWebhooks.self, users: .operators, isLook: true) { command, _, _ throws(APIError) in
        ListWebhooksOrder(id: command.id)
      },
      CommandKind(RemoveWebhook.self, users: .operators) { [self] command, _, _ throws(APIError) in
        order(command.id, .remove)
      },
      CommandKind(EnableWebhook.self, users: .operators) { [self] command, _, _ throws(APIError) in
        order(command.id, .enable)
      },
      CommandKind(ReplayWebhook.self, users: .operators) { [self] command, _, _ throws(APIError) in
        order(command.id, .replay(since: command.since))
      },
    ]
  }

  private func order(_ id: String, _ change: ChangeWebhookOrder.Change) -> ChangeWebhookOrder {
    ChangeWebhookOrder(id: id, change: change) { [wakes = parts.wakes] in wakes.wake(id) }
  }

  var events: EventKind? {
    EventKind(from: [Topology.Users.coordinator, Topology.Users.accounts]) {
      [parts] received throws(ContractProblem) in
      EventReport(event: try ReceivedEvent(received.envelope, received.body), parts: parts)
    }
  }

  var tasks: [FlowTask] {
    [
      FlowTask(MaintenancePart(rawValue: "tidy_webhooks")) { [parts] store, now throws(StoreError) in
        try await Upkeep(store: store, parts: parts).round(at: now)
      }
    ]
  }

  func measure(_ store: any Store) async throws(StoreError) {
    let now = parts.clock.now()
    let figures = try await store.read(StoreKeys(), at: now) { set throws(StoreError) in
      try set.each(Webhook.all(in: set).filter { $0.state != .removed }) { webhook throws(StoreError) in
        (webhook, waiting: try Backlog.waiting.count(webhook, in: set))
      }
    }
    parts.metrics.set(figures, at: now)
  }
}

/// An event, queued for each webhook that takes it.
struct EventReport: Report {
  let event: ReceivedEvent
  let parts: WebhookParts

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(group: try Webhook.group())
  }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    let webhooks = try Webhook.all(in: set).filter { $0.takes(event.type) }
    var keys = StoreKeys()
    for webhook in webhooks {
      keys.add(record: try Lane.id(event.subject, of: webhook))
      for kind in [webhook.eventKind, webhook.deliveredKind] {
        keys.add(holderOf: try QueuedEvent.key(event.id, kind))
      }
    }
    try set.require(keys)
    for webhook in webhooks { try queue(webhook, in: &set) }
    let lag = cause.timestamp.map { set.now - $0 }
    set.afterCommit { [parts] in
      if let lag { parts.metrics.lag(lag) }
    }
  }

  private func queue(_ webhook: Webhook, in set: inout WorkingSet) throws(StoreError) {
    for kind in [webhook.eventKind, webhook.deliveredKind] {
      guard try set.holder(of: QueuedEvent.key(event.id, kind)) == nil else { return }
    }
    let id = try Lane.id(event.subject, of: webhook)
    var lane = try Lane.find(id, in: set) ?? Lane()
    let number = lane.append(at: set.now)
    try QueuedEvent(event, at: set.now).store(number, in: id, of: webhook, in: &set)
    try lane.store(as: id, in: &set)
    try Backlog.waiting.add(1, webhook, in: &set)
    set.afterCommit { [parts] in
      parts.metrics.queued.increment()
      parts.wakes.wake(webhook.id.text)
    }
  }
}
