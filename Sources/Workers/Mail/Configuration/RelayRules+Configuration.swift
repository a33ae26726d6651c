import ServiceRuntime

extension RelayRules {
  /// Reads the section `relay`.
  init(_ section: ConfigurationSection) {
    let domains = section.strings(
      "domains", default: Self.appleDomains.sorted(), "Domains of relay addresses, which ask more of senders.")
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
