import CCurl
import Dispatch
import Glibc

/// What libcurl's multi handle wants to be told: sockets, kept in one epoll descriptor, and one point in time.
///
/// Not `Sendable`: it belongs to the loop. The callbacks reach nothing else, so the loop is never entered from inside itself.
final class MultiEvents {
  let epoll: Int32
  /// When libcurl wants its time-outs looked at, in nanoseconds of the monotonic clock.
  private(set) var wanted: UInt64?

  init(epoll: Int32) { self.epoll = epoll }

  deinit { close(epoll) }

  /// Makes libcurl report to this object, which must live longer than the handle.
  func attach(to multi: UnsafeMutableRawPointer) -> CURLMcode {
    ccurl_multi_set_callbacks(
      multi,
      { _, socket, what, context, _ in
        // Fails only for a socket that is gone, which needs no watching.
        _ = ccurl_epoll_watch(MultiEvents.from(context).epoll, socket, what)
        return 0
      },
      { _, milliseconds, context in
        MultiEvents.from(context).wanted =
          milliseconds < 0 ? nil : DispatchTime.now().uptimeNanoseconds + UInt64(milliseconds) * 1_000_000
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Whether the time has come; it is then forgotten, libcurl sets it again.
  func takeDue(_ now: UInt64) -> Bool {
    guard let wanted, wanted <= now else { return false }
    self.wanted = nil
    return true
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> MultiEvents {
    Unmanaged<MultiEvents>.fromOpaque(context!).takeUnretainedValue()
  }
}
