public import CountersignAMQP

/// Where jobs come from: the engine's view of a consumer.
public protocol JobSource: Sendable {
  /// Connects, and reconnects, until `close`.
  func run() async
  /// The next deliveries, as many as have come; nil when no more will come.
  func next() async -> [Delivery]?
  /// The message is done. Does not wait; a tag of a connection that is lost is ignored.
  func ack(_ tag: DeliveryTag)
  /// The message goes back to the queue, or to its dead letters. Does not wait.
  func reject(_ tag: DeliveryTag, requeue: Bool)
  /// Whether a delivery can still be settled. Otherwise its channel is gone, and the broker delivers the message again.
  func isLive(_ tag: DeliveryTag) -> Bool
  /// Leaves what comes next in the queue.
  func pause() async
  /// Goes on after `pause`.
  func resume() async
  /// Takes messages one at a time, each when the one before is settled, until `resume` or `pause`.
  func resumeOneByOne() async
  /// Takes no more; `next` hands out what has come and then nil.
  func stopConsuming() async
  /// Flushes acknowledgements and closes.
  func close() async
  /// Whether it is connected.
  var isReady: Bool { get }
}
