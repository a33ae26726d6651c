import CountersignEncoding
import CountersignTelemetry
import ServiceRuntime

/// Secrets of projects at identity providers, which accounts alone reads.
struct ProviderSecrets: Sendable {
  static let key = "providerSecretsFile"
  private static let maxBytes = 64 << 10

  private let all: [String: [String: Secret]]

  init(_ all: [String: [String: Secret]] = [:]) {
    self.all = all
  }

  /// Reads the file. What is wrong with it is reported without its content.
  init(_ section: ConfigurationSection) {
    let file = section.secretFile(
      Self.key, "Secrets of projects at providers, as JSON: {\"example\": {\"facebook.com\": \"…\"}}.")
    guard let text = file?.reveal() else {
      self.init()
      return
    }
    do {
      let all = try JSONReader(maxBytes: Self.maxBytes).decode([String: [String: String]].self, from: text)
      self.init(all.mapValues { $0.mapValues(Secret.init) })
    } catch {
      section.problem(
        Self.key, "must be JSON with a secret by project and provider: {\"ID\": {\"facebook.com\": \"…\"}}")
      self.init()
    }
  }

  subscript(project: String, provider: String) -> Secret? {
    all[project]?[provider].flatMap { $0.isEmpty ? nil : $0 }
  }
}
