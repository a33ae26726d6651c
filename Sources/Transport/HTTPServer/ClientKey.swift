import CMicroHTTPD
import Glibc

/// Client, as far as connections are counted: an IPv4 address, or the first 64 bits of an IPv6 address.
///
/// An owner of an IPv6 address commonly has all of its /64 (RFC 6177), so single addresses would be no bound.
struct ClientKey: Sendable, Hashable {
  private enum Value: Hashable {
    case ipv4(UInt32)
    case ipv6(UInt64)
    case other
  }

  private let value: Value

  init(_ address: UnsafePointer<sockaddr>?) {
    guard let address else {
      value = .other
      return
    }
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      value = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { .ipv4($0.pointee.sin_addr.s_addr) }
    case AF_INET6:
      let bytes = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
        withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) }
      }
      value = Self.value(ipv6: bytes)
    default: value = .other
    }
  }

  /// - Parameter bytes: the 16 bytes of an IPv6 address. One that stands for an IPv4 address (RFC 4291, 2.5.5.2) is
  ///   that.
  init(ipv6 bytes: [UInt8]) { value = Self.value(ipv6: bytes) }

  init(ipv4 address: UInt32) { value = .ipv4(address) }

  private static func value(ipv6 bytes: [UInt8]) -> Value {
    let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    guard isMapped else { return .ipv6(bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }) }
    // In the order of the network, as in `sockaddr_in`.
    return .ipv4(bytes[12..<16].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) })
  }
}

enum NumericHost {
  /// An address as the kernel gives it, without the port: `127.0.0.1`, `::1`, `fe80::1%eth0`. Empty for one of another
  /// family.
  static func text(_ address: UnsafePointer<sockaddr>) -> String {
    let isIPv6 = Int32(address.pointee.sa_family) == AF_INET6
    let length = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
      let status = getnameinfo(
        address, socklen_t(length), text.baseAddress, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
      return status == 0 ? String(cString: text.baseAddress!) : ""
    }
  }
}
