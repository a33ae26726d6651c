import CountersignCRabbitMQ
import CountersignConcurrency
import Glibc

extension AMQPLink {
  /// The broker may reduce it.
  private static let frameBytes = AMQP_DEFAULT_FRAME_SIZE

  private struct Plan {
    private static let shortestTimeout: Duration = .milliseconds(10)

    /// Limits to name in errors: the time-outs of the library may be longer, or shorter.
    let connectLimit: Duration
    let loginLimit: Duration
    /// Time-out of the library for the connection, the look-up of the name included.
    let connect: Duration
    private let end: ContinuousClock.Instant?

    init(_ limit: Duration?, _ host: BrokerHost, _ options: ConnectionOptions) throws(AMQPError) {
      connectLimit = limit ?? options.connectTimeout
      loginLimit = min(limit ?? options.rpcTimeout, options.rpcTimeout)
      guard let limit else {
        (connect, end) = (options.connectTimeout, nil)
        return
      }
      // The library looks the name up once more, which takes as long when the first of two name servers is dead: the
      // hosts of a list would all seem dead.
      let begun = ContinuousClock.now
      guard !HostResolver.addresses(of: host.name).isEmpty else { throw AMQPLink.unknownHost(host) }
      connect = limit + begun.duration(to: .now)
      end = .now + connect
    }

    /// Time-out of the library for the login: what the connection has left. Zero would mean none.
    var login: Duration {
      end.map { min(max(ContinuousClock.now.duration(to: $0), Self.shortestTimeout), loginLimit) } ?? loginLimit
    }
  }

  /// Connects, encrypts and logs in. Blocks for at most `connectTimeout` and `rpcTimeout`, or for `limit` altogether,
  /// except for name resolution, which the system's resolver limits.
  static func open(
    _ endpoint: BrokerEndpoint, _ options: ConnectionOptions, within limit: Duration?
  ) throws(AMQPError) -> AMQPLink {
    let host = endpoint.hosts[0]
    let plan = try Plan(limit, host, options)
    guard let connection = amqp_new_connection() else { throw AMQPError(.connectFailed, "out of memory") }
    do {
      let trust = endpoint.tls.map { Trust(settings: $0, host: host.name) }
      try connect(connection, host, trust, plan)
      try login(connection, endpoint, options, plan)
      let socket = try SocketHandle(duplicating: amqp_get_sockfd(connection))
      return AMQPLink(connection: connection, socket: socket, trust: trust, options: options)
    } catch {
      amqp_destroy_connection(connection)
      throw error
    }
  }

  var serverProperties: [String: FieldValue] {
    var decoder = PropertyDecoder()
    return amqp_get_server_properties(connection).map { decoder.fields($0.pointee, depth: 0) } ?? [:]
  }

  private static func connect(
    _ connection: amqp_connection_state_t, _ host: BrokerHost, _ trust: Trust?, _ plan: Plan
  ) throws(AMQPError) {
    guard let socket = trust == nil ? amqp_tcp_socket_new(connection) : amqp_ssl_socket_new(connection) else {
      throw AMQPError(.connectFailed, "out of memory")
    }
    try trust?.apply(to: socket)
    var timeout = timeval(plan.connect)
    errno = 0
    let status = amqp_socket_open_noblock(socket, host.name, Int32(host.port), &timeout)
    let reason = errno
    guard status != AMQP_STATUS_OK.rawValue else { return }
    throw failure(status, reason, trust, host, plan.connectLimit)
  }

  private static func unknownHost(_ host: BrokerHost) -> AMQPError {
    AMQPError(.connectFailed, "cannot find the host '\(host.name)'")
  }

  private static func failure(
    _ status: Int32, _ reason: Int32, _ trust: Trust?, _ place: BrokerHost, _ limit: Duration
  ) -> AMQPError {
    switch status {
    case AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED.rawValue:
      return unknownHost(place)
    case AMQP_STATUS_TIMEOUT.rawValue:
      return AMQPError(.timedOut, "\(place) did not answer within \(limit)")
    case AMQP_STATUS_SSL_PEER_VERIFY_FAILED.rawValue, AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED.rawValue:
      let why = trust?.refusal ?? "it cannot be verified"
      return AMQPError(.tlsFailed, "the certificate of \(place) is not trusted: \(why)")
    case AMQP_STATUS_SSL_CONNECTION_FAILED.rawValue, AMQP_STATUS_SSL_ERROR.rawValue:
      return AMQPError(.tlsFailed, "the TLS handshake with \(place) failed (TLS 1.2 or later is required)")
    default:
      // The library reads the reason from the socket (SO_ERROR) but does not return it.
      let isKnown = reason != 0 && reason != EINPROGRESS
      let why = isKnown ? String(cString: strerror(reason)) : "is the broker running, and reachable from here?"
      return AMQPError(.connectFailed, "cannot connect to \(place): \(why)")
    }
  }

  private static func login(
    _ connection: amqp_connection_state_t, _ endpoint: BrokerEndpoint, _ options: ConnectionOptions, _ plan: Plan
  ) throws(AMQPError) {
    var loginTimeout = timeval(plan.login)
    amqp_set_handshake_timeout(connection, &loginTimeout)
    var answerTimeout = timeval(options.rpcTimeout)
    amqp_set_rpc_timeout(connection, &answerTimeout)
    let pool = UnsafeMutablePointer<amqp_pool_t>.allocate(capacity: 1)
    init_amqp_pool(pool, 4096)
    defer {
      empty_amqp_pool(pool)
      pool.deallocate()
    }
    var properties = try PropertyEncoder(pool: pool).table(clientProperties(options))
    let heartbeat = Int32(clamping: options.heartbeat.components.seconds)
    let reply =
      if endpoint.password.isEmpty, endpoint.tls?.certificateFile != nil {
        cs_login_external(
          connection, endpoint.virtualHost, Int32(channel), frameBytes, heartbeat, &properties, "")
      } else {
        cs_login_plain(
          connection, endpoint.virtualHost, Int32(channel), frameBytes, heartbeat, &properties, endpoint.username,
          options.password?() ?? endpoint.password)
      }
    guard reply.reply_type != AMQP_RESPONSE_NORMAL else { return }
    throw refusal(reply, endpoint, plan.loginLimit)
  }

  /// The capabilities make the broker report confirms, canceled consumers and alarms.
  private static func clientProperties(_ options: ConnectionOptions) -> [String: FieldValue] {
    [
      "connection_name": .string(String(options.name.prefix(128))),
      "product": "Countersign",
      "capabilities": .table([
        "publisher_confirms": true, "basic.nack": true, "consumer_cancel_notify": true, "connection.blocked": true,
        "authentication_failure_close": true,
      ]),
    ]
  }

  private static func refusal(
    _ reply: amqp_rpc_reply_t, _ endpoint: BrokerEndpoint, _ limit: Duration
  ) -> AMQPError {
    let place = endpoint.hosts[0]
    if reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION, reply.reply.id == cs_connection_close,
      let close = reply.reply.decoded?.assumingMemoryBound(to: amqp_connection_close_t.self).pointee
    {
      let code = Int(close.reply_code)
      let text = String(close.reply_text)
      if code == ReplyCodes.accessRefused {
        return AMQPError(
          .authenticationRefused, "the broker at \(place) refuses user '\(endpoint.username)' or the password",
          replyCode: code)
      }
      let error = ReplyCodes.error(code, text)
      guard code == ReplyCodes.notAllowed else { return error }
      let what = error.code == .notFound ? "is missing" : "is closed to user '\(endpoint.username)'"
      return AMQPError(error.code, "virtual host '\(endpoint.virtualHost)' \(what)", replyCode: code)
    }
    guard reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION else {
      return AMQPError(.connectionLost, "\(place) closed the connection during the login")
    }
    if reply.library_error == AMQP_STATUS_TIMEOUT.rawValue {
      return AMQPError(.timedOut, "\(place) did not answer the login within \(limit); is this an AMQP port?")
    }
    let error = LibraryStatus.error(reply.library_error)
    return AMQPError(error.code, "login at \(place) failed: \(error.message)")
  }
}

extension timeval {
  init(_ duration: Duration) {
    let microseconds = duration.nanoseconds / 1000
    self.init(tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
  }
}
