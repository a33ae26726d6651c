import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Webhooks

@Suite(.timeLimit(.minutes(10))) struct WebhookCommandTests {
  private func secret(_ added: WebhookAdded, _ id: String) throws -> String {
    let context = SealContext(
      messageType: WebhookAdded.type, messageID: id, recipient: AccountCommandFields.replyRecipient)
    return try added.secret.open(with: WebhookBench.replyKey, for: context).reveal()
  }

  private let command = AddWebhook(
    url: "https://example.com/events", events: ["account.*"], replyKey: WebhookBench.replyKey.publicKey.jwk)

  @Test func `The secret is told to the requester, again to the same command, and stored sealed`() async throws {
    try await WebhookBench.with { bench in
      let message = try bench.message(command, id: "add")
      let first = try WebhookAdded(json: try await bench.ask(message).body)
      let text = try secret(first, "add")
      #expect(text.hasPrefix("whsec_") && text.count == 6 + 44)
      let again = try WebhookAdded(json: try await bench.ask(message).body)
      #expect(again.webhook == first.webhook)
      #expect(try secret(again, "add") == text)
      let stored = try await bench.deliveries.webhooks(at: bench.clock.now())
      #expect(stored.count == 1)
      let sealed = try #require(stored.first).sealedSecret
      let opened = try #require(bench.parts.secrets.open(sealed, of: first.webhook.id))
      #expect(WebhookSecrets.text(opened).reveal() == text)
      #expect(bench.parts.secrets.open(sealed, of: "wh0") == nil)
    }
  }

  @Test func `The same message ID with another key gets no secret`() async throws {
    try await WebhookBench.with { bench in
      _ = try await bench.ask(bench.message(command, id: "add"))
      var copied = command
      copied.replyKey = try PrivateSealingKey.generate(id: "thief").publicKey.jwk
      let refused = try await bench.error(copied, id: "add")
      #expect(refused.code == .invalidArgument && refused.reason == "MESSAGE_ID_REUSED")
      #expect(try await bench.listed(ListWebhooks()).count == 1)
    }
  }

  @Test func `Operators alone send commands`() async throws {
    try await WebhookBench.with { bench in
      let refused = try await bench.error(command, user: "service")
      #expect(refused.code == .operationNotAllowed)
      #expect(try await bench.error(ListWebhooks(), user: "gateway").code == .operationNotAllowed)
      #expect(try await bench.listed(ListWebhooks()).isEmpty)
    }
  }

  @Test func `Wrong addresses, patterns, keys and IDs are refused`() async throws {
    try await WebhookBench.with { bench in
      var wrong = command
      wrong.url = "http://example.com/"
      let refused = try await bench.error(wrong)
      #expect(refused.field == "url")
      for events in [[], ["account"], ["acount.*"], ["verification.aproved"], Array(repeating: "*", count: 33)] {
        wrong = command
        wrong.events = events
        #expect(try await bench.error(wrong).field == "events")
      }
      wrong = command
      wrong.replyKey = "{}"
      #expect(try await bench.error(wrong).field == "replyKey")
      #expect(try await bench.error(RemoveWebhook(id: "wh0")).field == "id")
      #expect(try await bench.error(ListWebhooks(id: "no id")).field == "id")
    }
  }

  /// Nobody is left to whom the secret could be told.
  @Test func `An old webhook.add is refused`() async throws {
    try await WebhookBench.with { bench in
      let sentAt = bench.clock.now()
      bench.clock.advance(by: .seconds(60))
      let reply = try await bench.ask(command, sentAt: sentAt)
      #expect(try ErrorReply(json: reply.body).error.reason == "COMMAND_TOO_OLD")
      #expect(try await bench.listed(ListWebhooks()).isEmpty)
      let later = ReplayWebhook(id: try await bench.add("*"), since: bench.clock.now() + .seconds(60))
      #expect(try await bench.error(later).field == "since")
    }
  }

  @Test func `There are so many webhooks and no more`() async throws {
    try await WebhookBench.with { bench in
      for _ in 0..<Webhook.maxCount { try await bench.add("*") }
      #expect(try await bench.error(command).code == .quotaExceeded)
    }
  }
}
