import CMicroHTTPD
import Dispatch
import Glibc
import Synchronization

/// Owns `struct MHD_Daemon`, from its start to its stop, and keeps the `Daemon` alive that its thread calls.
///
/// `@unchecked Sendable`: `pointer` and `watch` are written in `init` only, and `MHD_quiesce_daemon` and
/// `MHD_stop_daemon` are called on one serial queue, each once.
final class DaemonHandle: @unchecked Sendable {
  private enum Phase { case listening, quiet, stopped }

  private let pointer: OpaquePointer
  private let queue = DispatchQueue(label: "countersign.http-server.stop")
  private let retained: Unmanaged<Daemon>
  private let phase = Mutex(Phase.listening)
  private let watch: (any DispatchSourceTimer)?

  /// `nil` when libmicrohttpd cannot. The socket is then still the caller's.
  init?(daemon: Daemon, socket: Int32, limits: HTTPServerLimits) {
    retained = Unmanaged.passRetained(daemon)
    var options = cms_options()
    options.listen_socket = socket
    options.connection_limit = limits.connections
    options.idle_timeout_seconds = UInt32(clamping: limits.idleTimeout.components.seconds)
    options.connection_memory_bytes = limits.connectionMemoryBytes
    options.cls = retained.toOpaque()
    options.on_target = { cls, target, connection in
      guard let cls else { return nil }
      return Unmanaged<Daemon>.fromOpaque(cls).takeUnretainedValue().onTarget(connection: connection, target: target)
    }
    options.on_completed = { cls, _, context, _ in
      guard let cls else { return }
      Unmanaged<Daemon>.fromOpaque(cls).takeUnretainedValue().onCompleted(context)
    }
    options.on_access = { cls, _, _, method, version, data, size, context in
      guard let cls, let size, let pointer = context?.pointee else { return .NO }
      let daemon = Unmanaged<Daemon>.fromOpaque(cls).takeUnretainedValue()
      let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
      return daemon.onAccess(
        exchange, method: method, version: version, data: data, size: size, isFirst: exchange.isFirstCall())
    }
    options.on_accept = { cls, address, _ in
      guard let cls else { return .NO }
      return Unmanaged<Daemon>.fromOpaque(cls).takeUnretainedValue().accepts(address) ? .YES : .NO
    }
    options.on_connection = { cls, connection, _, change in
      guard let cls, let connection else { return }
      Unmanaged<Daemon>.fromOpaque(cls).takeUnretainedValue()
        .onConnection(connection, hasStarted: change == .CONNECTION_NOTIFY_STARTED)
    }
    guard let pointer = cms_start(&options) else {
      retained.release()
      return nil
    }
    self.pointer = pointer
    watch = limits.requestTime == nil ? nil : Self.watch(daemon, queue)
  }

  private static func watch(_ daemon: Daemon, _ queue: DispatchQueue) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1), leeway: .milliseconds(200))
    timer.setEventHandler { [weak daemon] in daemon?.endLate() }
    timer.resume()
    return timer
  }

  /// Connections go on.
  func quiesce() {
    queue.sync { closeListener() }
  }

  /// Ends the daemon's thread, which takes a moment, then calls `done`.
  func stopInBackground(done: (@Sendable () -> Void)? = nil) {
    queue.async { [self] in
      closeListener()
      let isFirst = phase.withLock { phase in
        defer { phase = .stopped }
        return phase != .stopped
      }
      if isFirst {
        watch?.cancel()
        MHD_stop_daemon(pointer)
        retained.release()
      }
      done?()
    }
  }

  private func closeListener() {
    let isFirst = phase.withLock { phase in
      guard phase == .listening else { return false }
      phase = .quiet
      return true
    }
    guard isFirst else { return }
    let descriptor = MHD_quiesce_daemon(pointer)
    if descriptor >= 0 { close(descriptor) }
  }
}
