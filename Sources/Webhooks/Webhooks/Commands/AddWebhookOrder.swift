import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// `webhook.add`. The secret is told in the reply, which is not recorded.
struct AddWebhookOrder: CommandOrder {
  static let maxPatterns = 32

  private let command: AddWebhook
  private let patterns: [EventPattern]
  private let secrets: WebhookSecrets
  private let sealer: PublicSealer
  private let context: SealContext
  private let id = SecureRandom.bytes(Webhook.idBytes)
  private let secret = SecureRandom.bytes(WebhookSecrets.length)

  init(_ command: AddWebhook, _ envelope: Envelope, _ parts: WebhookParts) throws(APIError) {
    guard parts.rules.mayCall(command.url) else { throw .invalidWebhookURL }
    patterns = command.events.compactMap { EventPattern($0) }
    guard (1...Self.maxPatterns).contains(patterns.count), patterns.count == command.events.count,
      patterns.allSatisfy({ pattern in Topology.events.contains { pattern.matches(MessageType($0)) } })
    else {
      throw .invalidEvents
    }
    do throws(JOSEError) {
      sealer = PublicSealer(key: try PublicSealingKey(jwk: Array(command.replyKey.utf8)))
    } catch {
      throw .invalidReplyKey
    }
    context = SealContext(
      messageType: WebhookAdded.type, messageID: envelope.messageID, recipient: AccountCommandFields.replyRecipient)
    (self.command, secrets) = (command, parts.secrets)
  }

  /// With another key for the reply it is another command.
  var fingerprint: [UInt8] {
    SHA256.hash(Array(([command.url, command.replyKey] + command.events).joined(separator: "\n").utf8))
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard try Webhook.all(in: set).count < Webhook.maxCount else { return CommandAnswer(.tooManyWebhooks) }
    guard let id = Webhook.newID(id), let sealed = secrets.seal(secret, of: id.text) else {
      throw StoreError(.content, "the secret of a webhook cannot be sealed: webhookKeysFile has no key")
    }
    let webhook = Webhook(id: id, url: command.url, patterns: patterns, sealedSecret: sealed, createdAt: set.now)
    try webhook.store(isNew: true, in: &set)
    return try answer(webhook, secret)
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    guard let webhook = try Webhook.find(String(decoding: note, as: UTF8.self), in: set),
      let secret = secrets.open(webhook.sealedSecret, of: webhook.id.text)
    else { return CommandAnswer(.unknownWebhook) }
    return try answer(webhook, secret)
  }

  private func answer(_ webhook: Webhook, _ secret: [UInt8]) throws(StoreError) -> CommandAnswer {
    let field: SecretField
    do throws(SealError) {
      field = try sealer.seal(WebhookSecrets.text(secret), for: context)
    } catch {
      throw StoreError(.content, "the secret of a reply \(error)")
    }
    var answer = try CommandAnswer(WebhookAdded(webhook: webhook.view(waiting: 0), secret: field))
    answer.note = Array(webhook.id.text.utf8)
    return answer
  }
}
