import ServiceRuntime

/// Requirements of Apple's private relay on senders. It drops other mail, often without notice.
///
/// The address or domain of `From` and the domain of the envelope sender have to be registered with Apple. Mail has to
/// be signed for the domain of `From` (DKIM). `countersign doctor mail` looks up the SPF record.
public struct RelayRules: Sendable, Hashable {
  /// Domains of relay addresses.
  public var domains: Set<String>
  /// Addresses and domains as they are registered in Apple's developer portal, in lower case.
  public var registeredSources: Set<String>

  public init(domains: Set<String> = Self.appleDomains, registeredSources: Set<String> = []) {
    self.domains = domains
    self.registeredSources = registeredSources
  }

  /// Observed domains. Apple's documentation also mentions `icloud.com`, where relay addresses look like others.
  public static let appleDomains: Set<String> = ["privaterelay.appleid.com", "private.icloud.com"]

  /// Whether mail to an address goes through the relay.
  public func isRelay(_ address: MailAddress) -> Bool { domains.contains(address.domain) }

  /// Reason why the relay would drop the mail of a sender, or `nil`.
  public func problem(with sender: Sender) -> String? {
    if !isRegistered(sender.from) {
      return "\(sender.from.domain) (From) is not among relay.registeredSources: register it with Apple, then there"
    }
    if !registeredSources.contains(sender.envelope.domain), !registeredSources.contains(sender.envelope.key) {
      return "\(sender.envelope.domain) (envelope sender) is not among relay.registeredSources, and must match exactly"
    }
    if !sender.keys.contains(where: { $0.domain == sender.from.domain }) {
      return "no DKIM key signs for \(sender.from.domain), the domain of From"
    }
    return nil
  }

  private func isRegistered(_ address: MailAddress) -> Bool {
    registeredSources.contains(address.key) || registeredSources.contains(address.domain)
  }
}

extension RelayRules {
  init(_ section: ConfigurationSection) {
    let domains = section.strings(
      "domains", default: Self.appleDomains.sorted(),
      "Domains of relay addresses, which have stricter rules for senders.")
    let sources = section.strings(
      "registeredSources", default: [],
      "Addresses and domains that are registered with Apple (Certificates, Identifiers & Profiles > Services > Sign in with Apple for Email Communication)."
    )
    section.check(
      "domains", domains.allSatisfy { MailAddress.isDomain($0.lowercased()) }, "must be domains such as \"example.com\""
    )
    section.check(
      "registeredSources", sources.allSatisfy { MailAddress.isDomain($0.lowercased()) || MailAddress($0) != nil },
      "must be domains or addresses")
    self.init(domains: Set(domains.map { $0.lowercased() }), registeredSources: Set(sources.map { $0.lowercased() }))
  }
}
