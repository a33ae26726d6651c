import CMicroHTTPD
import Dispatch
import Glibc
import Synchronization

/// An HTTP/1.1 server for health, metrics and stand-ins of providers.
///
/// One thread of its own does the network; each request's handler runs in a task and may take as long as it likes, its
/// connection sleeps meanwhile. It lives from `init` to `stop()`.
public final class HTTPServer: Sendable {
  /// The host as given.
  public let host: String
  /// The port it listens on. The one the system chose when 0 was given.
  public let port: UInt16

  private let daemon: Daemon
  private let handle: DaemonHandle

  /// Listens, and answers from now on. Binding resolves `host`, which blocks when it is a name that needs the network.
  ///
  /// - Parameters:
  ///   - host: an address or a name of this machine: `127.0.0.1`, `::`, `localhost`.
  ///   - port: the port, or 0 for any that is free.
  ///   - maxBodyBytes: the longest body; a longer one is answered with 413 and never reaches the handler.
  ///   - limits: connections, idle time, memory.
  ///   - turnedAway: called for each connection closed because of a limit for single clients. Must not block.
  ///   - refusal: answers a request that the handler does not see, from its headers. Must not block.
  ///   - handler: answers a request; canceled when the server stops and its grace is over.
  /// - Throws: `HTTPServerError` when it cannot listen there.
  public init(
    host: String, port: UInt16, maxBodyBytes: Int, limits: HTTPServerLimits = HTTPServerLimits(),
    turnedAway: @escaping @Sendable (HTTPServerTurnedAway) -> Void = { _ in },
    refusal: @escaping @Sendable (HTTPServerRequest, HTTPServerRefusal) -> HTTPServerResponse = { .plain($1) },
    handler: @escaping @Sendable (HTTPServerRequest) async -> HTTPServerReply
  ) throws(HTTPServerError) {
    let socket = try ListeningSocket.open(host: host, port: port)
    let connections = ConnectionTable(
      maxPerClient: limits.connectionsPerClient, requestTime: limits.requestTime)
    let daemon = Daemon(
      maxBodyBytes: maxBodyBytes, longBodies: limits.longBodies, connections: connections, isProxy: limits.isProxy,
      turnedAway: turnedAway,
      refusal: refusal, handler: handler)
    guard let handle = DaemonHandle(daemon: daemon, socket: socket.descriptor, limits: limits) else {
      close(socket.descriptor)
      throw HTTPServerError(code: .failed, description: "cannot start the server on \(host):\(socket.port)")
    }
    self.host = host
    self.port = socket.port
    self.daemon = daemon
    self.handle = handle
  }

  deinit {
    // Only signals: an owner that forgot `stop()` must not wait here for a thread to end.
    daemon.cancelAll()
    handle.stopInBackground()
  }

  /// Stops listening, lets running handlers end, and closes every connection. Further calls return when it has stopped.
  ///
  /// - Parameter grace: time that handlers may go on; after it they are canceled and their connections closed.
  public func stop(grace: Duration = .seconds(2)) async {
    handle.quiesce()
    let timer = DispatchWorkItem { [daemon] in daemon.cancelAll() }
    let seconds = Double(grace.components.seconds) + Double(grace.components.attoseconds) / 1e18
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: timer)
    await daemon.drain()
    timer.cancel()
    await withCheckedContinuation { continuation in
      handle.stopInBackground { continuation.resume() }
    }
  }
}

/// Failure to start a server.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  /// Kind of failure.
  public struct Code: Sendable, Hashable {
    private enum Value { case portInUse, addressNotAvailable, permissionDenied, hostNotFound, failed }
    private let value: Value

    /// Another process listens on that port.
    public static let portInUse = Code(value: .portInUse)
    /// The host has no interface with that address.
    public static let addressNotAvailable = Code(value: .addressNotAvailable)
    /// A port below 1024 needs a privilege that this process lacks.
    public static let permissionDenied = Code(value: .permissionDenied)
    /// The name of the host could not be resolved.
    public static let hostNotFound = Code(value: .hostNotFound)
    /// Anything else: no descriptors left, no memory, …
    public static let failed = Code(value: .failed)
  }

  /// Kind of failure.
  public let code: Code
  /// One line with host and port, safe to log.
  public let description: String
  /// Whether the same call may succeed later without anybody changing the configuration.
  public var isRetriable: Bool { code == .portInUse || code == .failed }
}

/// Reason for which a server answers a request itself: its handler sees nothing of it.
public enum HTTPServerRefusal: Sendable, Hashable {
  /// The body is longer than the server's `maxBodyBytes`, or than that of its request.
  case bodyTooLong
  /// As many long bodies as may be are read already (``HTTPServerLimits/LongBodies``).
  case tooManyLongBodies
  /// The request breaks HTTP where servers have to refuse it (RFC 9112). The text says how, and repeats no input.
  case malformed(String)
}

/// Says why a server has closed a connection on which it was not asked anything.
public enum HTTPServerTurnedAway: String, Sendable, CaseIterable {
  /// The client has as many connections as one client may have.
  case client
  /// The request, or the taking of its answer, took too long.
  case late
}
