/// What a connection is for: publishing, consuming or asking. Lives inside the connection's actor; an error thrown by
/// any method ends the connection, and a new one is made.
protocol ChannelRole: AnyObject {
  typealias Instant = ContinuousClock.Instant

  /// The channel is open and fresh: prepare it.
  func opened(_ link: Link, now: Instant) throws(AMQPError)
  /// Something arrived.
  func received(_ event: ChannelEvent, _ link: Link, now: Instant) throws(AMQPError)
  /// Do what waits: at the end of each turn, when callers have handed something in, when the socket has room again.
  func work(_ link: Link, now: Instant) throws(AMQPError) -> FollowUp
  /// The turn is over, and the status shows what it did.
  func turnEnded()
  /// When `tick` is to be called at the latest, if nothing happens before; `nil`: no time matters.
  ///
  /// - Parameter isBlocked: whether the broker does not read for now.
  func due(isBlocked: Bool, now: Instant) -> Instant?
  /// Look after what depends on time; now and then, and when it is due.
  func tick(_ link: Link, now: Instant) throws(AMQPError)
  /// The broker closed the channel: whether opening another one will do. Otherwise the connection is ended.
  func mayReopen(after closure: Link.Closure) -> Bool
  /// The broker closed the connection, and `lost` follows.
  func connectionClosed(_ error: AMQPError)
  /// The channel is gone and its numbers are void; another may follow.
  func lost(_ error: AMQPError)
  /// Callers have handed something in while there is no channel.
  func workOffline()
  /// Nothing follows any more: let everybody go.
  func stopped(_ error: AMQPError)
  /// Whether a stop has nothing to wait for.
  var isDrained: Bool { get }
  /// Phase to show while the connection is open.
  var openPhase: ConnectionStatus.Phase { get }
  /// Events since the last call.
  func takeEvents() -> [ConnectionEvent]
}

extension ChannelRole {
  func turnEnded() {}
  func connectionClosed(_ error: AMQPError) {}
}

/// When `work` wants to be called again.
struct FollowUp {
  /// As soon as the socket takes data.
  var whenWritable = false
  /// After this time.
  var after: Duration?
}
