import CountersignMessages

extension Sample {
  static func webhookCommands() throws -> [Sample] {
    [
      try Sample([], least: AddWebhook(url: "https://example.com/events", events: ["account.*"], replyKey: replyKey)),
      try Sample([ListWebhooks(id: "w")], least: ListWebhooks()),
      try Sample([], least: RemoveWebhook(id: "w")),
      try Sample([], least: EnableWebhook(id: "w")),
      try Sample([], least: ReplayWebhook(id: "w", since: time)),
    ]
  }

  static func webhookReplies() throws -> [Sample] {
    let least = WebhookView(
      id: "w", url: "https://example.com/events", events: ["account.*"], state: .enabled, waiting: 0, createdAt: time)
    var full = least
    (full.failingSince, full.replayingSince, full.lastFailure) = (time, time, "the answer was 503")
    return [
      try Sample([WebhookAdded(webhook: full, secret: secret)], least: WebhookAdded(webhook: least, secret: secret)),
      try Sample([WebhooksListed(webhooks: [full])], least: WebhooksListed(webhooks: [])),
    ]
  }
}
