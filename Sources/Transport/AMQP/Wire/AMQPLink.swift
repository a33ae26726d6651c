import CountersignCRabbitMQ
import CountersignConcurrency

/// One connection with one channel, and the only owner of the library's handle.
///
/// Not `Sendable`: used inside one actor with a serial queue, because the library allows one thread at a time. Its
/// calls block that queue for at most `rpcTimeout` or until the watchdog ends them. After any error except a closed
/// channel, the handle can only be destroyed.
final class AMQPLink {
  /// Several on one connection can lose frames in librabbitmq 0.11.
  static let channel: amqp_channel_t = 1

  struct Closure {
    var error: AMQPError
    /// Method at fault, as class << 16 | method. 0 if it was none.
    var method: UInt32
  }

  let connection: amqp_connection_state_t
  let options: ConnectionOptions
  let socket: SocketHandle
  let watchdog: Watchdog
  /// OpenSSL writes to it whenever it verifies a certificate.
  private let trust: Trust?
  var certificateEnds: [BrokerCertificate: Int64] { trust?.certificateEnds ?? [:] }
  let pool: UnsafeMutablePointer<amqp_pool_t>
  var assembler: FrameAssembler
  var texts = RepeatedTexts()
  /// Events that arrived while a call waited for its answer. Bounded by the prefetch or the outstanding confirms.
  var pending = RingBuffer<ChannelEvent>()
  /// `openChannel` clears it.
  var closure: Closure?
  var connectionClosure: AMQPError?
  var isBlocked = false
  private var isDestroyed = false

  /// Page size of `pool`: the properties of nearly all messages fit into one page.
  private static let poolPageBytes = 4096

  /// Takes ownership of a logged-in connection.
  init(connection: amqp_connection_state_t, socket: SocketHandle, trust: Trust?, options: ConnectionOptions) {
    self.connection = connection
    self.options = options
    self.socket = socket
    self.trust = trust
    self.watchdog = Watchdog(socket: socket, timeout: options.publishStallTimeout)
    self.assembler = FrameAssembler(maxBodyBytes: options.maxBodyBytes)
    self.pool = .allocate(capacity: 1)
    init_amqp_pool(pool, Self.poolPageBytes)
  }

  /// Frees everything but `socket`: event sources may still watch it, and their owner closes it.
  func destroy() {
    guard !isDestroyed else { return }
    isDestroyed = true
    watchdog.cancel()
    amqp_destroy_connection(connection)
    empty_amqp_pool(pool)
    pool.deallocate()
  }

  deinit { destroy() }

  var heartbeat: Duration {
    let seconds = amqp_get_heartbeat(connection)
    return seconds > 0 ? .seconds(seconds) : options.heartbeat
  }

  /// Whether received frames wait in memory, where no event source sees them.
  var hasPending: Bool {
    !pending.isEmpty || amqp_frames_enqueued(connection) != 0 || amqp_data_in_buffer(connection) != 0
  }

  func error(_ status: Int32) -> AMQPError {
    if watchdog.hasFired {
      return AMQPError(.timedOut, "the broker accepted no data for \(options.publishStallTimeout)")
    }
    return LibraryStatus.error(status)
  }

  func check(_ status: Int32) throws(AMQPError) {
    watchdog.step()
    guard status == AMQP_STATUS_OK.rawValue else { throw error(status) }
  }
}
