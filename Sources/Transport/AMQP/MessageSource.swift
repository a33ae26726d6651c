/// A queue that messages are consumed from: a ``Consumer``, or its counterpart in memory for tests.
public protocol MessageSource: Sendable {
  /// Connects, and reconnects, until ``close()``.
  func run() async
  /// Waits for deliveries and takes all that have arrived. `nil` when no more follow. For one task.
  func next() async -> [Delivery]?
  /// Acknowledges a delivery. Returns at once; a tag of a lost connection is ignored.
  func ack(_ tag: DeliveryTag)
  /// Hands a delivery back. Returns at once; a tag of a lost connection is ignored.
  /// - Parameter requeue: whether it is delivered again; otherwise it goes to the queue's dead letter exchange.
  func reject(_ tag: DeliveryTag, requeue: Bool)
  /// Whether a delivery can still be settled. Otherwise its channel is gone, and the broker delivers the message again.
  func isLive(_ tag: DeliveryTag) -> Bool
  /// Leaves further messages in the queue.
  func pause() async
  /// Takes messages again after ``pause()``.
  func resume() async
  /// Takes messages one at a time, the next when the previous one is settled, until ``resume()`` or ``pause()``.
  func resumeOneByOne() async
  /// Takes no further messages. ``next()`` hands out what has arrived, then `nil`.
  func stopConsuming() async
  /// Flushes acknowledgements and closes.
  func close() async
  /// Whether the queue is being consumed.
  var isReady: Bool { get }
}

extension Consumer: MessageSource {}
