import CommandEngine
import CountersignTelemetry
import HTTPClient
import Synchronization

/// The way to webhooks: bounded in time and size, over TLS, to public addresses, and without redirects.
final class WebhookNetwork: Sendable {
  /// Part of a claim that is left when its request begins, at least: a process that stood still sends nothing late.
  private static let reserve = WebhookRequest.timeouts.total + .seconds(5)

  private let configuration: HTTPClient.Configuration
  /// One for each webhook: a server that does not answer holds up no connection to another one.
  private let clients = Mutex<[String: HTTPClient]>([:])
  private let rules: WebhookRules
  private let secrets: WebhookSecrets
  private let clock: any WallClock

  init(_ rules: WebhookRules, _ secrets: WebhookSecrets, clock: any WallClock) throws(TransportError) {
    var configuration = HTTPClient.Configuration(
      maxConcurrent: rules.maxPerWebhook, maxWaiting: rules.maxPerWebhook, caFile: rules.caFile)
    configuration.pool.maxPerHost = rules.maxPerWebhook
    configuration.allowsAddress = { [allowed = rules.allowed] in allowed.allows($0, $1) }
    (self.configuration, self.rules, self.secrets, self.clock) = (configuration, rules, secrets, clock)
    // Whether it can be used.
    _ = try HTTPClient(configuration)
  }

  func send(_ attempt: Attempt) async -> Outcome {
    let (webhook, now) = (attempt.webhook, clock.now())
    guard rules.mayCall(webhook.url) else { return .forbidden }
    guard let secret = secrets.open(webhook.sealedSecret, of: webhook.id.text),
      attempt.claimedAt + Lane.claimTime - Self.reserve > now
    else { return .skipped }
    let client: HTTPClient
    do throws(TransportError) { client = try self.client(of: webhook.id.text) } catch { return .skipped }
    do throws(TransportError) {
      return Outcome(try await client.send(WebhookRequest.make(attempt, secret: secret, at: now)).status)
    } catch {
      switch error.kind {
      case .overloaded, .timedOut(.waiting), .closed, .canceled: return .skipped
      default: return .unreachable(error.description)
      }
    }
  }

  private func client(of webhook: String) throws(TransportError) -> HTTPClient {
    try clients.withLock { clients throws(TransportError) in
      if let known = clients[webhook] { return known }
      // Those of webhooks that were removed go with the others, which get new ones.
      if clients.count >= Webhook.maxCount { clients = [:] }
      let new = try HTTPClient(configuration)
      clients[webhook] = new
      return new
    }
  }
}
