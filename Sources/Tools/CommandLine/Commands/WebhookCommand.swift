import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

/// Commands about the addresses that the webhook-worker sends events to.
enum WebhookCommand {
  static let group = CommandEntry(
    "webhook", "Manages the addresses that events are sent to by HTTP.",
    discussion: "docs/webhooks.md says how a receiver checks what comes.",
    [add, list, show, remove, enable, replay])

  fileprivate static func output(_ webhooks: [WebhookView]) -> CommandOutput {
    var table = TextTable("ID", "STATE", "WAITING", "EVENTS", "URL")
    table.rows = webhooks.map { webhook in
      let reason = webhook.lastFailure.map { " (\($0))" } ?? ""
      let failing = webhook.failingSince.map { ", fails since \($0.rfc3339)\(reason)" } ?? ""
      let replaying = webhook.replayingSince.map { ", repeats since \($0.rfc3339)" } ?? ""
      return [
        webhook.id, webhook.state.rawValue + failing + replaying, "\(webhook.waiting)",
        webhook.events.joined(separator: ","), webhook.url,
      ]
    }
    return CommandOutput(
      text: webhooks.isEmpty ? "no webhooks" : table.text,
      json: .object(["webhooks": .array(webhooks.map { JSONValue(encoding: $0) })]))
  }

  /// Notes an act, and does it.
  fileprivate static func change<C: Command>(
    _ command: C, of id: String, _ context: CommandContext
  ) async throws -> CommandOutput where C.Reply == WebhooksListed {
    try await context.announce(C.type.name, on: id)
    return output(try await context.sendAsOperator(command).webhooks)
  }
}

extension WebhookCommand {
  struct AddOptions: CommandOptions {
    let url: String
    let events: [String]

    init(_ reader: OptionReader) {
      events = reader.texts(
        "events", "PATTERN,…", "Types of events: verification.approved, account.* for a family, * for all; required."
      ).flatMap { $0.split(separator: ",").map(String.init) }
      url = reader.operand("URL", "Address that takes the events, https://…")
    }
  }

  static let add = CommandEntry(
    "add", "Has events sent to an address, and prints the secret that signs them, once.",
    discussion: """
      Example:
        countersign webhook add https://example.com/events --events 'account.*,verification.approved'
      """, options: AddOptions.self
  ) { options, context in
    guard !options.events.isEmpty else { throw UsageError("--events is missing") }
    // The path may hold a secret.
    try await context.announce(
      AddWebhook.type.name, on: URLParts(String(options.url.prefix { $0 != "?" })).map { String($0.host.prefix(255)) }
    )
    let key: PrivateSealingKey
    do throws(JOSEError) { key = try PrivateSealingKey.generate(id: "webhook") } catch {
      throw CommandLineError(.internalError, error.description)
    }
    let command = AddWebhook(url: options.url, events: options.events, replyKey: key.publicKey.jwk)
    let (reply, id) = try await context.backend().sendForSecret(command, timeout: context.timeout)
    let sealed = SealContext(
      messageType: WebhookAdded.type, messageID: id, recipient: AccountCommandFields.replyRecipient)
    let secret: Secret
    do { secret = try reply.secret.open(with: key, for: sealed) } catch {
      throw CommandLineError(.internalError, "the secret of the reply cannot be opened: remove \(reply.webhook.id)")
    }
    return CommandOutput(
      text: """
        \(reply.webhook.id)
        \(secret.reveal())
        the receiver needs this secret to check signatures; it is not shown again
        """,
      json: JSONValue(encoding: reply.webhook).adding("secret", .text(secret.reveal())))
  }

  static let list = CommandEntry("list", "Lists them.", options: NoOptions.self) { _, context in
    output(try await context.sendAsOperator(ListWebhooks()).webhooks)
  }

  struct Target: CommandOptions {
    let id: String

    init(_ reader: OptionReader) { id = reader.operand("ID", "ID of the webhook.") }
  }

  static let show = CommandEntry("show", "Shows one of them.", options: Target.self) { options, context in
    output(try await context.sendAsOperator(ListWebhooks(id: options.id)).webhooks)
  }

  static let remove = CommandEntry(
    "remove", "Sends nothing more there, and forgets the events that wait.", options: Target.self
  ) { options, context in
    _ = try await change(RemoveWebhook(id: options.id), of: options.id, context)
    return CommandOutput(text: "removed", json: .object(["removed": .text(options.id)]))
  }

  static let enable = CommandEntry(
    "enable", "Sends again to one that was switched off: what waits, and what happens from now on.",
    options: Target.self
  ) { options, context in
    try await change(EnableWebhook(id: options.id), of: options.id, context)
  }

  struct ReplayOptions: CommandOptions {
    let since: String?
    let target: Target

    init(_ reader: OptionReader) {
      since = reader.text("since", "TIME", "Time of the earliest delivery: 2026-07-01T12:30:00Z; required.")
      target = Target(reader)
    }
  }

  static let replay = CommandEntry(
    "replay", "Sends again what was delivered since a time, within the last three days.", options: ReplayOptions.self
  ) { options, context in
    guard let text = options.since else { throw UsageError("--since is missing") }
    guard let since = UnixTime(rfc3339: text) else {
      throw CommandLineError(.badInput, "--since must be a time such as 2026-07-01T12:30:00Z")
    }
    return try await change(ReplayWebhook(id: options.target.id, since: since), of: options.target.id, context)
  }
}
