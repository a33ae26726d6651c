import CountersignCryptography
import FoundationEssentials
import ServiceRuntime
import TestSupport
import Testing

@testable import Webhooks

@Suite struct WebhookWorkerConfigurationTests {
  private func withFiles<Value>(_ body: (TemporaryDirectory) throws -> Value) throws -> Value {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    try directory.write("secret", to: "password")
    try directory.write(try KeyRing.rotate(jwkSet: nil, kid: "w"), to: "keys.json")
    return try body(directory)
  }

  private func load(_ keys: String) throws -> WebhookWorkerConfiguration {
    try withFiles { directory in
      let text = "{ broker: { url: 'amqp://localhost/' }, webhookKeysFile: 'keys.json', \(keys) }"
      return try WebhookWorkerConfiguration.load(
        file: directory.write(text, to: "webhook-worker.json5"), environment: [:]
      ).content
    }
  }

  private func problems(_ keys: String) throws -> [String] {
    do {
      _ = try load(keys)
      return []
    } catch let error as ConfigurationError {
      return error.problems.map(\.description)
    }
  }

  @Test func `Networks are ranges, and open what they name`() throws {
    #expect(try load("webhooks: { allowedNetworks: ['127.0.0.0/8'] }").rules.mayCall("http://127.0.0.1:80/"))
    #expect(try !load("webhooks: { allowedNetworks: ['10.0.0.0/8'] }").rules.mayCall("http://127.0.0.1:80/"))
    #expect(try problems("webhooks: { allowedNetworks: ['10.0.0'] }").contains { $0.contains("allowedNetworks.0") })
  }

  @Test func `The annotated file explains every key, and shows the defaults`() throws {
    let file = Repository.config + "/webhook-worker.json5"
    let text = try String(contentsOf: URL(filePath: file), encoding: .utf8)
    try withFiles { directory in
      let keys = try WebhookWorkerConfiguration.keys(file: directory.write("{}", to: "webhook-worker.json5"))
      #expect(keys.map(\.path).contains("webhooks.maxPerWebhook"))
      #expect(keys.map(\.path).filter { !text.contains("\($0.split(separator: ".").last ?? ""):") }.isEmpty)
      let loaded = try WebhookWorkerConfiguration.load(
        file: file,
        environment: [
          "COUNTERSIGN_BROKER_PASSWORD_FILE": directory.path + "/password",
          "COUNTERSIGN_WEBHOOK_KEYS_FILE": directory.path + "/keys.json",
        ]
      ).content
      let (rules, usual) = (loaded.rules, WebhookRules())
      #expect(rules.maxConcurrent == usual.maxConcurrent && rules.maxPerWebhook == usual.maxPerWebhook)
      #expect(rules.allowed == usual.allowed && rules.caFile == nil)
      #expect(loaded.operators == ["operator"] && loaded.prefetch == 256 && loaded.common.http.port == 8087)
    }
  }
}
