import CountersignEncoding

/// Addresses that accounts may connect to. Names of providers lead to the public internet, whatever the resolver says.
/// Otherwise a name could be made to lead to services of the own network.
struct AllowedAddresses: Sendable, Hashable {
  /// `host` or `host:port` of URLs that the operator has written, which may lead anywhere.
  var authorities: Set<String> = []
  /// Further networks that names may lead to.
  var networks: [AddressRange] = []
  /// Own authorities of certificates. `nil` without any.
  var ownTrust: OwnTrust?

  /// Authorities of certificates that are trusted at some addresses, and nowhere else: one of an inner network cannot
  /// vouch for Google.
  struct OwnTrust: Sendable, Hashable {
    /// In PEM.
    let caFile: String
    /// `host` or `host:port` as the operator has written them.
    let authorities: Set<String>
  }

  func allows(_ authority: String, _ bytes: [UInt8]) -> Bool {
    if authorities.contains(authority) { return true }
    guard let address = IPAddress(bytes: bytes) else { return false }
    return address.isPublic || networks.contains { $0.contains(address) }
  }
}
