import CountersignConcurrency
import Glibc

/// A connected non-blocking socket. Closes its descriptor once, at the latest in `deinit`.
final class TCPSocket {
  let number: Int32
  private var isOpen = true

  private init(_ number: Int32) { self.number = number }

  deinit { close() }

  func close() {
    guard isOpen else { return }
    isOpen = false
    _ = Glibc.close(number)
  }

  /// Blocks until the deadline at most.
  static func connect(host: String, port: UInt16, _ deadline: Deadline) throws(SMPPError) -> TCPSocket {
    var last = SMPPError(.notConnected, "cannot find the host '\(host)'")
    for address in HostResolver.addresses(of: host, until: deadline.end) {
      do { return try connect(address, port, "\(host):\(port)", deadline) } catch { last = error }
    }
    throw last
  }

  private static func connect(
    _ address: HostAddress, _ port: UInt16, _ place: String, _ deadline: Deadline
  ) throws(SMPPError) -> TCPSocket {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let number = Glibc.socket(address.family, kind, 0)
    guard number >= 0 else { throw failure(place, errno) }
    let socket = TCPSocket(number)
    if address.withSocketAddress(port: port, { Glibc.connect(number, $0, $1) }) != 0 {
      guard errno == EINPROGRESS else { throw failure(place, errno) }
      guard deadline.wait(for: POLLOUT, on: number) else {
        throw SMPPError(.notConnected, "\(place) did not answer in time")
      }
      var error: Int32 = 0
      var length = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length)
      guard error == 0 else { throw failure(place, error) }
    }
    // A response delayed by Nagle's algorithm would stall the window.
    var value: Int32 = 1
    _ = setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &value, socklen_t(MemoryLayout<Int32>.size))
    return socket
  }

  private static func failure(_ place: String, _ code: Int32) -> SMPPError {
    SMPPError(.notConnected, "cannot connect to \(place): \(String(cString: strerror(code)))")
  }
}

struct Deadline {
  let end: ContinuousClock.Instant

  init(after duration: Duration) { end = .now + duration }

  /// For poll(2): milliseconds, rounded up.
  var milliseconds: Int32 {
    let left = max(.zero, ContinuousClock.Instant.now.duration(to: end))
    let (seconds, attoseconds) = left.components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  func wait(for events: Int32, on socket: Int32) -> Bool {
    var request = pollfd(fd: socket, events: Int16(events), revents: 0)
    while true {
      let ready = poll(&request, 1, milliseconds)
      if ready > 0 { return true }
      if ready == 0 || errno != EINTR { return false }
    }
  }
}
