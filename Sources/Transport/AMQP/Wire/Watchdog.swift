import CountersignConcurrency
import Dispatch
import Synchronization

/// Detects a hanging library call and ends it by shutting the socket down.
///
/// `amqp_basic_publish` has no deadline, and in librabbitmq 0.11 it may wait forever for a peer that is gone (issues
/// 519 and 780 of rabbitmq-c). The connection's queue is then stuck, so the watchdog runs on another one.
final class Watchdog: Sendable {
  private static let looks = 4
  private static let queue = DispatchQueue(label: "amqp.watchdog")

  private struct Watch {
    var isCancelled = false
    var lastSeen: UInt64 = 0
    var repeats = 0
  }

  /// Odd while the connection's queue is inside the library. Grows with each sign of life.
  private let progress = Atomic<UInt64>(0)
  private let fired = Atomic<Bool>(false)
  private let watch = Mutex(Watch())
  private let socket: SocketHandle
  private let interval: DispatchTimeInterval

  init(socket: SocketHandle, timeout: Duration) {
    self.socket = socket
    interval = (timeout / Self.looks).dispatchInterval
    lookLater()
  }

  var hasFired: Bool { fired.load(ordering: .relaxed) }

  /// Only the connection's own queue calls this and the next two.
  func enter() {
    let value = progress.load(ordering: .relaxed)
    if value & 1 == 0 { progress.store(value &+ 1, ordering: .relaxed) }
  }

  func step() {
    progress.store(progress.load(ordering: .relaxed) &+ 2, ordering: .relaxed)
  }

  func leave() {
    let value = progress.load(ordering: .relaxed)
    if value & 1 == 1 { progress.store(value &+ 1, ordering: .relaxed) }
  }

  func cancel() { watch.withLock { $0.isCancelled = true } }

  private func lookLater() {
    Self.queue.asyncAfter(deadline: .now() + interval) { [weak self] in self?.look() }
  }

  private func look() {
    let value = progress.load(ordering: .relaxed)
    let (goesOn, isStuck) = watch.withLock { watch in
      guard !watch.isCancelled else { return (false, false) }
      watch.repeats = value & 1 == 1 && value == watch.lastSeen ? watch.repeats + 1 : 0
      watch.lastSeen = value
      return (watch.repeats < Self.looks, watch.repeats >= Self.looks)
    }
    if goesOn { lookLater() }
    guard isStuck else { return }
    fired.store(true, ordering: .relaxed)
    socket.shutdown()
  }
}
