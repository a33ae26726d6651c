import Glibc

/// Look-ups of names, which block for as long as the system's resolver allows.
enum NameLookUp {
  static func time(_ name: String) throws(AMQPError) -> Duration {
    let begun = ContinuousClock.now
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &found) == 0 else { throw unknown(name) }
    freeaddrinfo(found)
    return begun.duration(to: .now)
  }

  static func unknown(_ name: String) -> AMQPError { AMQPError(.connectFailed, "cannot find the host '\(name)'") }
}
