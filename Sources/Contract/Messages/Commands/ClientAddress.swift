import CountersignEncoding

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The network that a client's address is counted under: an IPv4 address, or the /64 of an IPv6 address, the smallest
/// allocation of a customer.
package struct ClientAddress: Sendable, Hashable {
  /// Such as `192.0.2.1/32` or `20010db800000000/64`.
  package let network: String

  /// - Parameter text: an IPv4 or IPv6 address without port or zone. An IPv4 address mapped into IPv6 counts as IPv4.
  package init?(_ text: String) {
    if let bytes = Self.parse(text, AF_INET, length: 4) {
      network = Self.dotted(bytes) + "/32"
    } else if let bytes = Self.parse(text, AF_INET6, length: 16) {
      let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
      network = isMapped ? Self.dotted(bytes[12...]) + "/32" : Hexadecimal.encode(Array(bytes[..<8])) + "/64"
    } else {
      return nil
    }
  }

  private static func parse(_ text: String, _ family: Int32, length: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: length)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }

  private static func dotted(_ bytes: some Collection<UInt8>) -> String {
    bytes.map(String.init).joined(separator: ".")
  }
}

extension ClientAddress {
  /// The network of a command's client, if the command names one.
  package init?(of client: StartVerification.Client?) throws(APIError) {
    guard let text = client?.ip, !text.isEmpty else { return nil }
    guard let address = ClientAddress(text) else {
      throw APIError(.invalidArgument, "client.ip must be an IPv4 or IPv6 address", field: "client.ip")
    }
    self = address
  }

  package init(network: String) {
    self.network = network
  }

  /// The network around ``network``: the /24 of an IPv4 address, or the /48 of an IPv6 address, the largest allocation
  /// that one customer usually has.
  package var wideNetwork: String {
    if network.hasSuffix("/64") { return network.prefix(12) + "/48" }
    guard let dot = network.lastIndex(of: ".") else { return network }
    return network[..<dot] + ".0/24"
  }
}
