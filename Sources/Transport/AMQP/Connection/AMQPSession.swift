import CountersignConcurrency
import Dispatch

/// An open connection with its event sources. Owned by the connection's actor.
final class AMQPSession {
  let link: AMQPLink
  let openedAt: ContinuousClock.Instant
  private let readable: any DispatchSourceRead
  private let writable: any DispatchSourceWrite
  private let timer: any DispatchSourceTimer
  private var isWaitingForRoom = false
  private var tickAt: ContinuousClock.Instant?
  private static let leeway = DispatchTimeInterval.milliseconds(10)
  private var isEnded = false

  init(
    link: AMQPLink, queue: DispatchQueue, onReadable: @escaping @Sendable () -> Void,
    onWritable: @escaping @Sendable () -> Void, onTick: @escaping @Sendable () -> Void
  ) {
    self.link = link
    openedAt = .now
    readable = DispatchSource.makeReadSource(fileDescriptor: link.socket.number, queue: queue)
    writable = DispatchSource.makeWriteSource(fileDescriptor: link.socket.number, queue: queue)
    timer = DispatchSource.makeTimerSource(queue: queue)
    readable.setEventHandler(handler: onReadable)
    writable.setEventHandler(handler: onWritable)
    timer.setEventHandler(handler: onTick)
    // The descriptor must stay open until both sources are canceled.
    let group = DispatchGroup()
    for source in [readable, writable] as [any DispatchSourceProtocol] {
      group.enter()
      source.setCancelHandler { group.leave() }
    }
    let socket = link.socket
    group.notify(queue: queue) { socket.close() }
    readable.activate()
    timer.activate()
  }

  /// If an earlier one is scheduled, that one stays and schedules the next.
  func tick(at time: ContinuousClock.Instant, now: ContinuousClock.Instant) {
    guard !isEnded else { return }
    if let tickAt, tickAt > now, tickAt <= time { return }
    tickAt = time
    timer.schedule(deadline: .now() + now.duration(to: time).dispatchInterval, leeway: Self.leeway)
  }

  func isTickDue(_ now: ContinuousClock.Instant) -> Bool {
    guard let tickAt else { return false }
    return tickAt <= now
  }

  func waitForRoom() {
    guard !isWaitingForRoom, !isEnded else { return }
    isWaitingForRoom = true
    writable.resume()
  }

  func stopWaitingForRoom() {
    guard isWaitingForRoom, !isEnded else { return }
    isWaitingForRoom = false
    writable.suspend()
  }

  func end() {
    guard !isEnded else { return }
    // A suspended source never calls its cancel handler.
    if !isWaitingForRoom { writable.resume() }
    isEnded = true
    readable.cancel()
    writable.cancel()
    timer.cancel()
    link.destroy()
  }
}
