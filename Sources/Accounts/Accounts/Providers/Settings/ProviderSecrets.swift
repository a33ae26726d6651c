import CountersignEncoding
import CountersignTelemetry
import ServiceRuntime

/// Secrets of projects at identity providers, which accounts alone reads.
struct ProviderSecrets: Sendable {
  static let key = "providerSecretsFile"
  private static let maxBytes = 64 << 10

  /// Secret of a provider: one, or one by client ID.
  enum Entry: Sendable, Decodable {
    case one(Secret)
    case byClient([String: Secret])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        self = .one(Secret(text))
      } else {
        self = .byClient(try container.decode([String: String].self).mapValues(Secret.init))
      }
    }
  }

  private let all: [String: [String: Entry]]
  /// Check value of the file. `nil` without one.
  private(set) var checkValue: CheckValue?

  init(_ all: [String: [String: Entry]] = [:]) {
    self.all = all
  }

  init(_ all: [String: [String: Secret]]) {
    self.init(all.mapValues { $0.mapValues(Entry.one) })
  }

  /// Reads the file. What is wrong with it is reported without its content.
  init(_ section: ConfigurationSection) {
    let file = section.secretFile(
      Self.key,
      "Secrets of projects at providers, as JSON, one or one by client ID: {\"example\": {\"facebook.com\": \"…\"}}.")
    guard let text = file?.reveal() else {
      self.init()
      return
    }
    do {
      self.init(try JSONReader(maxBytes: Self.maxBytes).decode([String: [String: Entry]].self, from: text))
      checkValue = .content(Array(text.utf8), file: Self.key)
    } catch {
      section.problem(
        Self.key,
        "must be JSON with a secret, or one by client ID, by project and provider: {\"ID\": {\"facebook.com\": \"…\"}}")
      self.init()
    }
  }

  /// The secret of a provider that has one for all clients.
  subscript(project: String, provider: String) -> Secret? {
    guard case .one(let secret) = all[project]?[provider], !secret.isEmpty else { return nil }
    return secret
  }

  /// The secret of a client, or the one for all.
  subscript(project: String, provider: String, client: String) -> Secret? {
    guard case .byClient(let secrets) = all[project]?[provider] else { return self[project, provider] }
    return secrets[client].flatMap { $0.isEmpty ? nil : $0 }
  }
}
