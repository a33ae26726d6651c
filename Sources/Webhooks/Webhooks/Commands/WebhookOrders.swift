import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// `webhook.list`: all, or one.
struct ListWebhooksOrder: CommandOrder {
  let id: String?

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let webhooks = try Webhook.all(in: set).filter { $0.state != .removed && (id == nil || $0.id.text == id) }
    if id != nil, webhooks.isEmpty { return CommandAnswer(.unknownWebhook) }
    return try CommandAnswer(webhooks.sorted { $0.createdAt < $1.createdAt }, in: set)
  }
}

/// A change of one webhook: `webhook.remove`, `webhook.enable`, `webhook.replay`.
struct ChangeWebhookOrder: CommandOrder {
  enum Change: Sendable, Hashable {
    case remove, enable
    case replay(since: UnixTime)
  }

  let id: String
  let change: Change
  let changed: @Sendable () -> Void

  var fingerprint: [UInt8] { SHA256.hash(Array("\(id)\n\(change)".utf8)) }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard var webhook = try Webhook.find(id, in: set) else { return CommandAnswer(.unknownWebhook) }
    switch change {
    case .remove: webhook.state = .removed
    case .enable: webhook.enable()
    case .replay(let since):
      guard since + QueuedEvent.lifetime >= set.now, since <= set.now else { return CommandAnswer(.invalidSince) }
      webhook.replay = Webhook.Replay(since: since, until: set.now)
    }
    try webhook.store(in: &set)
    set.afterCommit(changed)
    return try CommandAnswer([webhook], in: set)
  }
}

extension CommandAnswer {
  fileprivate init(_ webhooks: [Webhook], in set: WorkingSet) throws(StoreError) {
    var views: [WebhookView] = []
    for webhook in webhooks { views.append(webhook.view(waiting: try Backlog.waiting.count(webhook, in: set))) }
    try self.init(WebhooksListed(webhooks: views))
  }
}
