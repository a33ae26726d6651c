import DKIM

/// What Apple's private relay asks of senders. It drops what does not fulfil it, often without a word.
///
/// Registered with Apple have to be the address or domain of `From` and the domain of the envelope sender, exactly; and mail has to be
/// signed for the domain of `From` (DKIM), while the envelope sender's domain has an SPF record, which `countersign doctor mail`
/// looks up.
public struct RelayRules: Sendable, Hashable {
  /// Domains of relay addresses.
  public var domains: Set<String>
  /// Addresses and domains as they are registered in Apple's developer portal, in lower case.
  public var registeredSources: Set<String>

  /// - Parameters:
  ///   - domains: Domains of relay addresses.
  ///   - registeredSources: Addresses and domains as they are registered with Apple.
  public init(domains: Set<String> = Self.appleDomains, registeredSources: Set<String> = []) {
    self.domains = domains
    self.registeredSources = registeredSources
  }

  /// Those seen. Apple's documentation also speaks of `icloud.com`, where relay addresses cannot be told from others.
  public static let appleDomains: Set<String> = ["privaterelay.appleid.com", "private.icloud.com"]

  /// Whether mail to an address goes through the relay.
  public func isRelay(_ address: MailAddress) -> Bool { domains.contains(address.domain) }

  /// Why the relay would drop what a sender sends; `nil` when it would not.
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
