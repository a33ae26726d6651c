import Glibc

/// Time limit of a blocking call.
struct Deadline {
  private let end: ContinuousClock.Instant

  init(after duration: Duration) { end = .now + duration }

  /// For poll(2): milliseconds, rounded up.
  var milliseconds: Int32 {
    let left = max(.zero, ContinuousClock.Instant.now.duration(to: end))
    let (seconds, attoseconds) = left.components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Waits until the socket is ready.
  ///
  /// - Returns: false at the time limit.
  func wait(for events: Int32, on socket: Int32) -> Bool {
    var request = pollfd(fd: socket, events: Int16(events), revents: 0)
    while true {
      let ready = poll(&request, 1, milliseconds)
      if ready > 0 { return true }
      if ready == 0 || errno != EINTR { return false }
    }
  }
}
