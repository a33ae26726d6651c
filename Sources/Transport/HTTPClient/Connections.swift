import CCurl
import Glibc

/// State of the connections of a loop, so that it opens only a few at once.
///
/// Not `Sendable`: it belongs to the loop, and its slots, whose callbacks run inside the loop's calls of libcurl, tell
/// it.
final class Connections {
  /// Number of requests that may wait for a connection of theirs to be opened. A TLS handshake takes some milliseconds
  /// of the loop's thread, and 25 where libcurl reads all authorities each time: so many of them stay far below any
  /// time-out for connecting (3 s), and enough are under way to fill the round trips to a distant server.
  static let maxOpening = 16

  private(set) var opening = 0
  /// Attempts to open a connection that failed since the last one that succeeded.
  private(set) var failures = 0
  private var newSockets: Set<curl_socket_t> = []
  private var established: Set<curl_socket_t> = []

  /// Whether another request may begin, by the number of those under way: a connection may be opened for it, or one is
  /// idle, which libcurl will take. (All are taken to lead to one server, as those of a lane do.)
  func hasRoom(running: Int) -> Bool {
    let idle = max(0, established.count - (running - opening))
    return opening < Self.maxOpening + idle
  }

  func begins() { opening += 1 }

  /// A request has its connection. A second one, if the first was a pooled one that had died.
  func isConnected(sockets: [curl_socket_t], isFirst: Bool) {
    if isFirst { opening -= 1 }
    failures = 0
    // One of two that were tried, IPv6 and IPv4, is closed by now.
    for socket in sockets where newSockets.remove(socket) != nil { established.insert(socket) }
  }

  func endsUnconnected(_ kind: TransportError.Kind?) {
    opening -= 1
    switch kind {
    case .resolve, .connect, .tls, .certificate, .timedOut: failures += 1
    case .invalidRequest, .overloaded, .send, .receive, .tooLarge, .canceled, .http2, .closed, .other, nil: break
    }
  }

  func forgetFailures() { failures = 0 }

  func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    let socket = ccurl_open_socket(address)
    if socket >= 0 { newSockets.insert(socket) }
    return socket
  }

  func close(_ socket: curl_socket_t) -> Int32 {
    newSockets.remove(socket)
    established.remove(socket)
    return Glibc.close(socket)
  }

  static func from(_ context: UnsafeMutableRawPointer?) -> Connections {
    Unmanaged<Connections>.fromOpaque(context!).takeUnretainedValue()
  }
}
