import CommandEngine
import CountersignMessages
import CountersignTelemetry

extension AccountRecord {
  /// Whether links to an address concern it: the address is its own, or without one that of an identity that owns it.
  func isReached(at address: String) -> Bool {
    if let email { return email.normalizedAddress == address.normalizedAddress }
    return !owners(of: address).isEmpty
  }

  /// Makes an address that a mail has proven its own. Sign-ins by it are worth no more than the identity that owns it.
  mutating func prove(_ address: String) {
    let owners = owners(of: address)
    if email == nil, !owners.isEmpty {
      let isTrusted = owners.contains { $0.trustedFrom == nil }
      emailTrustedFrom = isTrusted ? nil : owners.compactMap(\.trustedFrom).min()
    }
    if email?.normalizedAddress != address.normalizedAddress { takeAddress(address) }
    isEmailVerified = true
  }

  private func owners(of address: String) -> [LinkedIdentity] {
    identities.filter { $0.ownsEmail && $0.email?.normalizedAddress == address.normalizedAddress }
  }
}
