import CountersignCRabbitMQ
import CountersignConcurrency
import Glibc

extension AMQPLink {
  /// Proposed frame size; the broker may reduce it.
  private static let frameBytes = AMQP_DEFAULT_FRAME_SIZE
  private static let shortestTimeout: Duration = .milliseconds(10)

  /// Connects, encrypts and logs in. Blocks for at most `connectTimeout` and `rpcTimeout`, or for `limit` altogether,
  /// except for name resolution, which the system's resolver limits.
  ///
  /// - Parameter endpoint: endpoint whose first host is used.
  static func open(
    _ endpoint: BrokerEndpoint, _ options: ConnectionOptions, within limit: Duration?
  ) throws(AMQPError) -> AMQPLink {
    let begun = ContinuousClock.now
    guard let connection = amqp_new_connection() else { throw AMQPError(.connectFailed, "out of memory") }
    do {
      let host = endpoint.hosts[0]
      let trust = endpoint.tls.map { Trust(settings: $0, host: host.name) }
      try connect(connection, host, trust, limit ?? options.connectTimeout)
      // What the connection has left; a time-out of zero would mean none.
      let rest = limit.map { max($0 - begun.duration(to: .now), shortestTimeout) }
      try login(connection, endpoint, options, min(rest ?? options.rpcTimeout, options.rpcTimeout))
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
    _ connection: amqp_connection_state_t, _ host: BrokerHost, _ trust: Trust?, _ limit: Duration
  ) throws(AMQPError) {
    guard let socket = trust == nil ? amqp_tcp_socket_new(connection) : amqp_ssl_socket_new(connection) else {
      throw AMQPError(.connectFailed, "out of memory")
    }
    try trust?.apply(to: socket)
    var timeout = timeval(limit)
    errno = 0
    let status = amqp_socket_open_noblock(socket, host.name, Int32(host.port), &timeout)
    let reason = errno
    guard status != AMQP_STATUS_OK.rawValue else { return }
    throw failure(status, reason, trust, host, limit)
  }

  private static func failure(
    _ status: Int32, _ reason: Int32, _ trust: Trust?, _ place: BrokerHost, _ limit: Duration
  ) -> AMQPError {
    switch status {
    case AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED.rawValue:
      return AMQPError(.connectFailed, "cannot find the host '\(place.name)'")
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
    _ connection: amqp_connection_state_t, _ endpoint: BrokerEndpoint, _ options: ConnectionOptions, _ limit: Duration
  ) throws(AMQPError) {
    var loginTimeout = timeval(limit)
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
          endpoint.password)
      }
    guard reply.reply_type != AMQP_RESPONSE_NORMAL else { return }
    throw refusal(reply, endpoint, limit)
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
