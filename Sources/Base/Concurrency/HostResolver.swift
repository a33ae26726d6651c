import Dispatch
public import Glibc
import Synchronization

/// Looks host names up with the system's resolver, within a limit: getaddrinfo(3) has none.
///
/// A look-up that outlasts its limit goes on until the resolver gives up, on a thread of its own.
public enum HostResolver {
  /// Maximum number of addresses of one name.
  public static let maxAddresses = 8
  /// Time for a look-up without a limit of its own: two name servers that do not answer, and a third one that does.
  public static let usualLimit = Duration.seconds(15)
  /// Maximum number of names that are looked up at a time in this process. A further one is not found.
  private static let maxLookUps = 32
  /// Time between two questions whether the caller gave up.
  private static let interval = DispatchTimeInterval.milliseconds(50)

  /// Look-ups in progress, one a name: a name whose servers are silent takes one place, however often it is asked for.
  private static let lookUps = Mutex<[String: LookUp]>([:])

  private final class LookUp: Sendable {
    let addresses = Mutex<[HostAddress]>([])
    let isDone = DispatchGroup()
  }

  /// Addresses of a host, in the order of the system's preference. Blocks the thread for the limit at most.
  ///
  /// - Parameters:
  ///   - host: a name or an address, which is not looked up.
  ///   - deadline: end of the wait.
  ///   - isCanceled: asked every 50 ms whether the wait ends at once.
  /// - Returns: at most ``maxAddresses``; none if the name is not known, or not found in time.
  public static func addresses(
    of host: String, until deadline: ContinuousClock.Instant = .now + usualLimit,
    isCanceled: () -> Bool = { false }
  ) -> [HostAddress] {
    let own = ask(host, AI_NUMERICHOST)
    guard own.isEmpty, let lookUp = lookUp(of: host) else { return own }
    while ContinuousClock.now < deadline, !isCanceled() {
      if lookUp.isDone.wait(timeout: .now() + interval) == .success { return lookUp.addresses.withLock { $0 } }
    }
    return []
  }

  private static func lookUp(of host: String) -> LookUp? {
    lookUps.withLock { running in
      if let begun = running[host] { return begun }
      guard running.count < maxLookUps else { return nil }
      let lookUp = LookUp()
      lookUp.isDone.enter()
      running[host] = lookUp
      DispatchQueue(label: "countersign.names").async {
        let found = ask(host, 0)
        lookUp.addresses.withLock { $0 = found }
        lookUps.withLock { $0[host] = nil }
        lookUp.isDone.leave()
      }
      return lookUp
    }
  }

  private static func ask(_ host: String, _ flags: Int32) -> [HostAddress] {
    var hints = addrinfo()
    hints.ai_flags = flags
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
    defer { freeaddrinfo(first) }
    var addresses: [HostAddress] = []
    var next = first
    while let entry = next?.pointee, addresses.count < maxAddresses {
      let address = HostAddress(entry)
      if !addresses.contains(address) { addresses.append(address) }
      next = entry.ai_next
    }
    return addresses
  }
}

/// Address of a host, IPv4 or IPv6.
public struct HostAddress: Sendable, Hashable {
  /// `AF_INET` or `AF_INET6`.
  public let family: Int32
  /// A `sockaddr` of the family, with port 0.
  private let bytes: [UInt8]

  fileprivate init(_ entry: addrinfo) {
    family = entry.ai_family
    bytes = Array(UnsafeRawBufferPointer(start: entry.ai_addr, count: Int(entry.ai_addrlen)))
  }

  /// Numeric form, with the interface of a link-local address.
  public var text: String {
    var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    // A known family, and a buffer for its longest form.
    _ = withSocketAddress(port: 0) { getnameinfo($0, $1, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Calls a function with the address and a port, for connect(2) or bind(2).
  public func withSocketAddress<Result>(
    port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var bytes = bytes
    // The port is at the same place in sockaddr_in and sockaddr_in6 (RFC 3493, section 3.3).
    bytes.replaceSubrange(2..<4, with: [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)])
    return bytes.withUnsafeBytes { body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count)) }
  }
}
