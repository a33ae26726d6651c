package import CountersignEncoding

/// Addresses that a process may connect to where others choose the names. Names lead to the public internet, whatever the
/// resolver says. Otherwise a name could be made to lead to services of the own network.
package struct AllowedAddresses: Sendable, Hashable {
  /// `host` or `host:port` of URLs that the operator has written, which may lead anywhere.
  package var authorities: Set<String>
  /// Further networks that names may lead to.
  package var networks: [AddressRange]
  /// Own authorities of certificates. `nil` without any.
  package var ownTrust: OwnTrust?

  /// Authorities of certificates that are trusted at some addresses, and nowhere else: one of an inner network cannot
  /// vouch for Google.
  package struct OwnTrust: Sendable, Hashable {
    /// In PEM.
    package let caFile: String
    /// `host` or `host:port` as the operator has written them.
    package let authorities: Set<String>

    package init(caFile: String, authorities: Set<String>) {
      self.caFile = caFile
      self.authorities = authorities
    }
  }

  package init(authorities: Set<String> = [], networks: [AddressRange] = [], ownTrust: OwnTrust? = nil) {
    self.authorities = authorities
    self.networks = networks
    self.ownTrust = ownTrust
  }

  /// Whether connections to a host may go to an address; see ``HTTPClient/Configuration/allowsAddress``.
  package func allows(_ authority: String, _ bytes: [UInt8]) -> Bool {
    if authorities.contains(authority) { return true }
    guard let address = IPAddress(bytes: bytes) else { return false }
    return address.isPublic || networks.contains { $0.contains(address) }
  }
}
