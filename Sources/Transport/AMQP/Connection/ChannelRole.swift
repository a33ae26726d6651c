/// The purpose of a connection: publishing, consuming or requesting. Lives inside the connection's actor; an error
/// thrown by any method ends the connection, which is then replaced.
protocol ChannelRole: AnyObject {
  typealias Instant = ContinuousClock.Instant

  /// `opened` follows.
  func connected()
  func opened(_ link: AMQPLink, now: Instant) throws(AMQPError)
  func received(_ event: ChannelEvent, _ link: AMQPLink, now: Instant) throws(AMQPError)
  /// Does pending work: at the end of each turn, after a call was added, and when the socket has room again.
  func work(_ link: AMQPLink, now: Instant) throws(AMQPError) -> FollowUp
  /// Decides whether to replace the channel before the next `work`. If so, `lost` and `opened` follow.
  func takesNewChannel(now: Instant) -> Bool
  /// Called at the end of a turn, when the status reflects its effects.
  func turnEnded()
  /// Latest time for the next `tick`. `nil`: no deadline is pending.
  func due(isBlocked: Bool, now: Instant) -> Instant?
  /// Called regularly, and at the time returned by `due`.
  func tick(_ link: AMQPLink, now: Instant) throws(AMQPError)
  /// Whether a new channel suffices after the broker closed this one. Otherwise the connection is ended.
  func mayReopen(after closure: AMQPLink.Closure) -> Bool
  /// A call of `lost` follows.
  func connectionClosed(_ error: AMQPError)
  /// The channel is gone, and its delivery and publish numbers are void. Another channel may follow.
  func lost(_ error: AMQPError)
  func workOffline()
  /// Releases all waiting callers: no channel follows.
  func stopped(_ error: AMQPError)
  var isDrained: Bool { get }
  var openPhase: ConnectionStatus.Phase { get }
  func takeEvents() -> [ConnectionEvent]
}

extension ChannelRole {
  func connected() {}
  func takesNewChannel(now: Instant) -> Bool { false }
  func turnEnded() {}
  func connectionClosed(_ error: AMQPError) {}
}

struct FollowUp {
  var whenWritable = false
  var after: Duration?
}
