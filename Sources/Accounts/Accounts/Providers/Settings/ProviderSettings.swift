import ServiceRuntime

/// Keys of a provider in the configuration of accounts, and the making of the provider.
protocol ProviderSettings: Sendable {
  /// Name of its section in `providers`: `apple`.
  static var section: String { get }
  /// `apple.com`.
  static var id: String { get }

  init(_ section: ProviderSection)

  func make(_ context: ProviderContext) -> any IdentityProvider
}

extension ProvidersConfiguration {
  /// A provider is a folder and a line here: see docs/adding-a-sign-in-method.md.
  static let kinds: [any ProviderSettings.Type] = [
    AppleSettings.self,
    FacebookSettings.self,
    GoogleSettings.self,
  ]
}

/// A provider's section of the configuration, which notes the addresses that the operator has set.
final class ProviderSection {
  private let section: ConfigurationSection
  private(set) var authorities: Set<String> = []

  init(_ section: ConfigurationSection) {
    self.section = section
  }

  /// An address of the provider. One that the operator sets may be on an inner network, and plain on this machine.
  func url(_ key: String, default fallback: String, _ help: String) -> String {
    let url = section.string(key, default: fallback, help)
    guard let parts = URLParts(url) else {
      section.problem(key, "must be an https:// URL without user, password, query and fragment")
      return fallback
    }
    section.check(
      key, !parts.isUnprotected, "is http:// to another machine, which could sign in as anybody; use https://")
    if section.isGiven(key) { authorities.insert(parts.authority) }
    return url
  }

  func issuers(default fallback: [String]) -> Set<String> {
    let issuers = section.strings(
      "issuers", default: fallback, "Issuers of its ID tokens, as their claim iss has them.")
    section.check("issuers", !issuers.isEmpty && issuers.allSatisfy { !$0.isEmpty }, "must name an issuer")
    return Set(issuers)
  }

  func text(
    _ key: String, default fallback: String, isRight: (String) -> Bool, form: String, _ help: String
  ) -> String {
    let text = section.string(key, default: fallback, help)
    section.check(key, isRight(text), "must be \(form)")
    return text
  }
}
