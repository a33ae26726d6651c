import CountersignEncoding
import HTTPClient
import ServiceRuntime

/// Settings of deliveries.
struct WebhookRules: Sendable {
  /// Networks beside the internet that addresses may lead to.
  var allowed = AllowedAddresses()
  /// Authorities of certificates, in the place of the system's.
  var caFile: String?
  /// Requests at a time.
  var maxConcurrent = 256
  /// Requests at a time to one webhook.
  var maxPerWebhook = 64

  private static let maxURLBytes = 2_048
  private static let loopback = IPAddress("127.0.0.1")

  /// Whether an address has the form of one to call. Where its name leads is seen on connecting.
  func mayCall(_ url: String) -> Bool {
    guard url.utf8.count <= Self.maxURLBytes, !url.contains("#"),
      url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let parts = URLParts(String(url.prefix { $0 != "?" })), !parts.isUnprotected
    else { return false }
    let host = parts.host.hasPrefix("[") ? String(parts.host.dropFirst().dropLast()) : parts.host
    if let address = IPAddress(host), !address.isPublic, !isAllowed(address) { return false }
    return url.hasPrefix("https://") || takesLoopback
  }

  /// Without TLS nothing but this machine, and that only where the operator has opened it.
  private var takesLoopback: Bool { Self.loopback.map(isAllowed) ?? false }

  private func isAllowed(_ address: IPAddress) -> Bool { allowed.networks.contains { $0.contains(address) } }
}
