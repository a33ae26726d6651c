import CountersignConcurrency

/// Consumes one queue on a connection of its own, which it keeps up until it is closed.
///
/// Deliveries that were not acknowledged when a connection was lost are delivered again on the next one; tags of the
/// lost connection are ignored.
public final class Consumer: Sendable {
  /// A queue of the consumer's own for messages that it may miss, such as a notice: the broker names it, and deletes it
  /// with the connection, together with what waits in it.
  public struct OwnQueue: Sendable, Hashable {
    /// Exchange that it is bound to.
    public let exchange: String
    /// Binding key.
    public let routingKey: String
    /// Maximum number of messages that wait. The oldest make room.
    public let maxLength: Int

    public init(exchange: String, routingKey: String, maxLength: Int) {
      precondition(exchange.utf8.count <= WireLimits.maxShortStringBytes, "the exchange's name is too long")
      precondition(routingKey.utf8.count <= WireLimits.maxShortStringBytes, "the routing key is too long")
      precondition(maxLength > 0, "maxLength must be positive")
      self.exchange = exchange
      self.routingKey = routingKey
      self.maxLength = maxLength
    }
  }

  /// A queue and the way it is consumed.
  public struct Subscription: Sendable, Hashable {
    /// Name of the queue. Empty for one of the consumer's own.
    public let queue: String
    /// The consumer's own queue. `nil` when it consumes one that is there.
    public let own: OwnQueue?
    /// Maximum number of deliveries that are not settled.
    public let prefetch: Int
    /// A classic queue of which the connection is the exclusive consumer while it consumes, so that no other process
    /// consumes beside it. `nil` when others may. What is written into it is thrown away. The user needs the right to
    /// read it.
    public let lock: String?
    /// Whether other connections may hold the lock beside this one, as long as none holds it alone.
    public let isLockShared: Bool
    /// Topic exchange of which the queue gets all messages from the first connection on: it is bound whenever it is
    /// inspected. `nil` where others bind it. The user needs the rights to write the queue and to read the exchange.
    public let source: String?
    /// The consumer's name at the broker, which makes one up when it is empty.
    public let tag: String
    /// Maximum time that acknowledgements wait for others. They do not once the consumer stops.
    public let gathering: Gathering
    /// Time without a delivery after which the queue is asked whether it has messages.
    public let stallTimeout: Duration

    /// - Parameters:
    ///   - prefetch: 1...65,535.
    ///   - lock: a classic queue that the connection consumes exclusively.
    ///   - isLockShared: whether others may consume it as well, none of them exclusively.
    ///   - source: a topic exchange of which the queue gets all messages.
    ///   - tag: the consumer's name at the broker.
    ///   - gathering: maximum time that acknowledgements wait for others.
    ///   - stallTimeout: time without a delivery after which the queue is inspected.
    public init(
      queue: String, prefetch: Int, lock: String? = nil, isLockShared: Bool = false, source: String? = nil,
      tag: String = "",
      gathering: Gathering = .acknowledgements, stallTimeout: Duration = .seconds(30)
    ) {
      precondition((1...Int(UInt16.max)).contains(prefetch), "prefetch must be 1...65535")
      precondition(queue.utf8.count <= WireLimits.maxShortStringBytes, "the queue's name is too long")
      precondition(lock.orEmpty.utf8.count <= WireLimits.maxShortStringBytes, "the lock's name is too long")
      precondition(source.orEmpty.utf8.count <= WireLimits.maxShortStringBytes, "the source's name is too long")
      precondition(tag.utf8.count <= WireLimits.maxShortStringBytes, "the tag is too long")
      precondition(stallTimeout > .zero, "stallTimeout must be positive")
      self.queue = queue
      own = nil
      self.prefetch = prefetch
      self.lock = lock
      self.isLockShared = isLockShared
      self.source = source
      self.tag = tag
      self.gathering = gathering
      self.stallTimeout = stallTimeout
    }

    /// - Parameters:
    ///   - own: a queue of the consumer's own.
    ///   - prefetch: 1...65,535.
    public init(own: OwnQueue, prefetch: Int) {
      precondition((1...Int(UInt16.max)).contains(prefetch), "prefetch must be 1...65535")
      queue = ""
      self.own = own
      self.prefetch = prefetch
      lock = nil
      isLockShared = false
      source = nil
      tag = ""
      gathering = .acknowledgements
      stallTimeout = .seconds(30)
    }
  }

  private let options: ConnectionOptions
  private let inbox: ConsumerInbox
  private let connection: ConnectionActor

  /// - Parameter onEvent: called on the connection's queue. Must not block.
  public init(
    endpoint: BrokerEndpoint, options: ConnectionOptions, subscription: Subscription,
    onEvent: @escaping @Sendable (ConnectionEvent) -> Void
  ) {
    self.options = options
    let inbox = ConsumerInbox()
    self.inbox = inbox
    connection = ConnectionActor(
      endpoint: endpoint, options: options, role: ConsumerRole(inbox: inbox, subscription: subscription),
      onEvent: onEvent)
  }

  /// Connects and consumes, and reconnects whenever the connection is lost, until `close`. A missing queue is
  /// reported (`notFound`) and retried. Cancellation ends it at once.
  public func run() async { await connection.run() }

  /// Waits for deliveries and takes all that have arrived, at most `prefetch`. For one task only.
  ///
  /// - Returns: `nil` if no more deliveries follow, or the task is canceled.
  public func next() async -> [Delivery]? { await inbox.next() }

  /// Acknowledges a delivery. Returns at once; acknowledgements are sent in groups, as set by `gathering`, and a third
  /// of a second later if an earlier delivery is unsettled.
  public func ack(_ tag: DeliveryTag) { settle(CollectionOfOne(tag), .ack) }

  /// Acknowledges many deliveries.
  public func ack(_ tags: [DeliveryTag]) { settle(tags, .ack) }

  /// Returns a delivery to the broker.
  ///
  /// - Parameter requeue: whether it is delivered again, which counts toward the queue's delivery limit; otherwise it
  ///   goes to the queue's dead letter exchange.
  public func reject(_ tag: DeliveryTag, requeue: Bool) {
    settle(CollectionOfOne(tag), requeue ? .requeue : .discard)
  }

  /// Stops consuming. Further messages stay in the queue. Deliveries that have arrived are still returned by `next`,
  /// and a new connection does not consume either. Returns when the broker has confirmed.
  public func pause() async { await wish(.paused) }

  /// Stops consuming like `pause`, and returns all unsettled deliveries to the queue, where other consumers take them. It
  /// counts toward the queue's delivery limit. Settling them has no effect from then on. Returns when that is done.
  public func stepAside() async { await wish(.aside) }

  /// Consumes again after `pause` or `stepAside`. Does not wait for a connection. Deliveries left unsettled from before do not count
  /// against the prefetch; while they exceed one prefetch, the consumer waits.
  public func resume() async {
    inbox.wish(.consuming, Latch())
    connection.wake()
  }

  /// Consumes one message at a time, each after the previous one is settled, until `resume` or `pause`: a trial that
  /// affects at most one message. Does not wait for a connection.
  public func resumeOneByOne() async {
    inbox.wish(.trying, Latch())
    connection.wake()
  }

  /// Whether the broker still waits for a delivery to be settled. Otherwise its channel is gone and the broker delivers
  /// the message again, so another consumer may process it as well.
  public func isLive(_ tag: DeliveryTag) -> Bool { inbox.isLive(tag) }

  /// Stops consuming for good: `next` returns the deliveries that have arrived, then `nil`. Returns when the broker has
  /// confirmed.
  public func stopConsuming() async {
    await wish(.stopped)
    // Also if the connection did not get to it: a task in `next` must not wait forever.
    inbox.finish()
  }

  /// Sends pending acknowledgements, then closes the channel, which proves that the broker has read them, and the
  /// connection. Unsettled deliveries are delivered again to other consumers.
  public func close() async {
    inbox.wish(.closed, Latch())
    inbox.finish()
    await connection.stop(ceiling: options.rpcTimeout)
  }

  /// Whether the queue is being consumed.
  public var isReady: Bool { status.phase == .connected }

  /// For readiness checks.
  public var status: ConnectionStatus { connection.status.value }

  private func wish(_ wish: ConsumerInbox.Wish) async {
    let granted = Latch()
    inbox.wish(wish, granted)
    connection.wake()
    // The queue may be inside an attempt to connect; it finds the wish afterwards.
    await granted.wait(atMost: options.rpcTimeout)
  }

  private func settle(_ tags: some Sequence<DeliveryTag>, _ kind: ConsumerInbox.Settlement.Kind) {
    if inbox.settle(tags, kind) { connection.wake() }
  }
}
