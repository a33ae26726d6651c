import CCurl
import Dispatch
import Glibc

/// Events that libcurl's multi handle waits for: sockets, kept in one epoll descriptor, and one point in time.
///
/// Not `Sendable`: it belongs to the loop. The callbacks touch nothing else, so the loop is never reentered.
final class MultiEvents {
  let epoll: Int32
  /// Time at which libcurl wants its time-outs checked, in nanoseconds of the monotonic clock.
  private(set) var wanted: UInt64?
  private var sockets: Set<curl_socket_t> = []

  init(epoll: Int32) { self.epoll = epoll }

  deinit { close(epoll) }

  /// This object must live longer than the handle.
  func attach(to multi: UnsafeMutableRawPointer) -> CURLMcode {
    ccurl_multi_set_callbacks(
      multi,
      { _, socket, what, context, _ in
        MultiEvents.from(context).watch(socket, what)
        return 0
      },
      { _, milliseconds, context in
        MultiEvents.from(context).wanted =
          milliseconds < 0 ? nil : DispatchTime.now().uptimeNanoseconds + UInt64(milliseconds) * 1_000_000
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func watch(_ socket: curl_socket_t, _ what: Int32) {
    if what == CURL_POLL_REMOVE { sockets.remove(socket) } else { sockets.insert(socket) }
    // Fails only for a closed socket, which needs no watching.
    _ = ccurl_epoll_watch(epoll, socket, what)
  }

  /// Runs a body with all sockets corked, so that its writes leave in full segments (tcp(7), TCP_CORK). For HTTP/2,
  /// where many requests share a connection and libcurl writes two frames for each of them separately.
  func corked(_ body: () -> Void) {
    let sockets = sockets
    for socket in sockets { ccurl_set_cork(socket, 1) }
    body()
    for socket in sockets { ccurl_set_cork(socket, 0) }
  }

  /// The time is then cleared, and libcurl sets it again.
  func takeDue(_ now: UInt64) -> Bool {
    guard let wanted, wanted <= now else { return false }
    self.wanted = nil
    return true
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> MultiEvents {
    Unmanaged<MultiEvents>.fromOpaque(context!).takeUnretainedValue()
  }
}
