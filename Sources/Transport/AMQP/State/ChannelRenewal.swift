/// Decides when a channel that publishes is replaced because the broker refuses what is published.
///
/// A channel learns a quorum queue's leader when it first publishes to it. If that host dies, the channel refuses for
/// as long as the host is down (RabbitMQ 3.10.8, rabbit_fifo_client.erl, `enqueue/3`). A full queue refuses on every
/// channel: the pauses grow.
struct ChannelRenewal {
  typealias Instant = ContinuousClock.Instant

  static let shortestPause: Duration = .seconds(1)
  /// Upper bound of the pause, which doubles with each renewal, and begins anew after twice this bound without one.
  static let longestPause: Duration = .seconds(30)
  /// Longest time for which nothing is sent, so that all that was sent is answered: one queue without a majority must not
  /// hold up the others. The next such time comes after the longest pause.
  static let longestHold: Duration = .seconds(1)
  /// All are forgotten when there are more.
  static let maxTargets = 256

  struct Target: Hashable {
    private let exchange: String
    private let routingKey: String

    @inline(__always)
    init(_ publication: Publication) {
      exchange = publication.exchange
      routingKey = publication.routingKey
    }
  }

  /// Targets of this channel that have taken something: unless their queues were declared anew, they are only full.
  private var accepting: Set<Target> = []
  private var dueAt: Instant?
  private var heldSince: Instant?
  private var last: (at: Instant, pause: Duration)?

  /// Notes nothing if it was returned, because no queue was asked.
  mutating func record(_ target: Target, isAck: Bool, isReturned: Bool, now: Instant) {
    guard !isReturned else { return }
    if isAck { recordConfirm(of: target) } else { recordRefusal(of: target, now: now) }
  }

  private mutating func recordConfirm(of target: Target) {
    guard !accepting.contains(target) else { return }
    if accepting.count >= Self.maxTargets { accepting = [] }
    accepting.insert(target)
  }

  private mutating func recordRefusal(of target: Target, now: Instant) {
    let earliest = accepting.contains(target) ? now + Self.longestPause : now
    let next = last.map { max(earliest, $0.at + $0.pause) } ?? earliest
    dueAt = dueAt.map { min($0, next) } ?? next
  }

  mutating func recordOpening() { (accepting, dueAt, heldSince) = ([], nil, nil) }

  mutating func take(isAnswered: Bool, now: Instant) -> Bool {
    guard isAnswered, isDue(now: now) else { return false }
    if let last, now < last.at + Self.longestPause * 2 {
      self.last = (now, min(last.pause * 2, Self.longestPause))
    } else {
      last = (now, Self.shortestPause)
    }
    return true
  }

  mutating func holds(now: Instant) -> Bool {
    guard isDue(now: now) else { return false }
    if let heldSince, now < heldSince + Self.longestPause { return now < heldSince + Self.longestHold }
    heldSince = now
    return true
  }

  func due(now: Instant) -> Instant? {
    if let dueAt, now < dueAt { return dueAt }
    if let heldSince, now < heldSince + Self.longestHold { return heldSince + Self.longestHold }
    return nil
  }

  private func isDue(now: Instant) -> Bool { dueAt.map { now >= $0 } ?? false }
}
