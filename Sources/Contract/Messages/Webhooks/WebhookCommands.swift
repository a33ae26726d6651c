public import CountersignTelemetry

/// Command `webhook.add`, for operators: has events sent to an address by HTTP.
public struct AddWebhook: SecretReplyCommand {
  public typealias Reply = WebhookAdded
  public static let type = MessageType("webhook.add")

  /// `https://` address that takes the events, at most 2,048 characters.
  public var url: String
  /// Types of events, 1 to 32: `verification.approved`, `account.*`, or `*` for all.
  public var events: [String]
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(url: String, events: [String], replyKey: String) {
    self.url = url
    self.events = events
    self.replyKey = replyKey
  }
}

/// Reply to `webhook.add`.
public struct WebhookAdded: MessageBody, Hashable {
  public static let type = MessageType("webhook.added")

  public var webhook: WebhookView
  /// Secret that signs, `whsec_…`. It is told once.
  public var secret: SecretField

  public init(webhook: WebhookView, secret: SecretField) {
    self.webhook = webhook
    self.secret = secret
  }
}

/// Command `webhook.list`, for operators: the webhooks, or one of them.
public struct ListWebhooks: Command, Hashable {
  public typealias Reply = WebhooksListed
  public static let type = MessageType("webhook.list")

  /// The one to show. All if absent.
  public var id: String?

  public init(id: String? = nil) {
    self.id = id
  }
}

/// Command `webhook.remove`, for operators: sends nothing more, and forgets what waits.
public struct RemoveWebhook: Command, Hashable {
  public typealias Reply = WebhooksListed
  public static let type = MessageType("webhook.remove")

  public var id: String

  public init(id: String) {
    self.id = id
  }
}

/// Command `webhook.enable`, for operators: sends again what waits of a webhook that was switched off.
public struct EnableWebhook: Command, Hashable {
  public typealias Reply = WebhooksListed
  public static let type = MessageType("webhook.enable")

  public var id: String

  public init(id: String) {
    self.id = id
  }
}

/// Command `webhook.replay`, for operators: sends again what has been delivered since a time.
public struct ReplayWebhook: Command, Hashable {
  public typealias Reply = WebhooksListed
  public static let type = MessageType("webhook.replay")

  public var id: String
  /// Time of the earliest delivery, within the last three days.
  public var since: UnixTime

  public init(id: String, since: UnixTime) {
    self.id = id
    self.since = since
  }
}

/// Reply to commands about webhooks.
public struct WebhooksListed: MessageBody, Hashable {
  public static let type = MessageType("webhook.listed")

  public var webhooks: [WebhookView]

  public init(webhooks: [WebhookView]) {
    self.webhooks = webhooks
  }
}

/// Webhook as it is shown to operators.
public struct WebhookView: Codable, Sendable, Hashable {
  /// State of a webhook. More words may be added.
  public struct State: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Events are sent.
    public static let enabled = State(rawValue: "enabled")
    /// Its server has answered 410: switched off.
    public static let gone = State(rawValue: "gone")
    /// Nothing but failures for days: switched off.
    public static let failing = State(rawValue: "failing")

    public static let known: [State] = [.enabled, .gone, .failing]
  }

  public var id: String
  public var url: String
  public var events: [String]
  public var state: State
  /// Events that wait for their delivery.
  public var waiting: Int
  public var createdAt: UnixTime
  /// Time of the first failure after the last success. Absent after a success.
  public var failingSince: UnixTime?
  /// The latest failure, for people, where there is one since the last success: `the answer was 503`.
  public var lastFailure: String?
  /// Time from which deliveries are being repeated, until all have been taken up.
  public var replayingSince: UnixTime?

  public init(id: String, url: String, events: [String], state: State, waiting: Int, createdAt: UnixTime) {
    self.id = id
    self.url = url
    self.events = events
    self.state = state
    self.waiting = waiting
    self.createdAt = createdAt
  }
}
