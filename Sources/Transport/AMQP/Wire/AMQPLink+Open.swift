import CountersignCRabbitMQ
import CountersignConcurrency
import Glibc

extension AMQPLink {
  /// Proposed frame size; the broker may reduce it.
  private static let frameBytes = AMQP_DEFAULT_FRAME_SIZE

  /// Connects, encrypts and logs in. Blocks for at most `connectTimeout` and `rpcTimeout`, except for name resolution,
  /// which the system's resolver limits.
  static func open(_ endpoint: BrokerEndpoint, _ options: ConnectionOptions) throws(AMQPError) -> AMQPLink {
    guard let connection = amqp_new_connection() else { throw AMQPError(.connectFailed, "out of memory") }
    do {
      let trust = endpoint.tls.map { Trust(settings: $0, host: endpoint.host) }
      try connect(connection, endpoint, trust, options)
      try login(connection, endpoint, options)
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
    _ connection: amqp_connection_state_t, _ endpoint: BrokerEndpoint, _ trust: Trust?, _ options: ConnectionOptions
  ) throws(AMQPError) {
    guard let socket = trust == nil ? amqp_tcp_socket_new(connection) : amqp_ssl_socket_new(connection) else {
      throw AMQPError(.connectFailed, "out of memory")
    }
    try trust?.apply(to: socket)
    var timeout = timeval(options.connectTimeout)
    errno = 0
    let status = amqp_socket_open_noblock(socket, endpoint.host, Int32(endpoint.port), &timeout)
    let reason = errno
    guard status != AMQP_STATUS_OK.rawValue else { return }
    throw failure(status, reason, trust, endpoint, options)
  }

  private static func failure(
    _ status: Int32, _ reason: Int32, _ trust: Trust?, _ endpoint: BrokerEndpoint, _ options: ConnectionOptions
  ) -> AMQPError {
    let place = "\(endpoint.host):\(endpoint.port)"
    switch status {
    case AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED.rawValue:
      return AMQPError(.connectFailed, "cannot find the host '\(endpoint.host)'")
    case AMQP_STATUS_TIMEOUT.rawValue:
      return AMQPError(.timedOut, "\(place) did not answer within \(options.connectTimeout)")
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
    _ connection: amqp_connection_state_t, _ endpoint: BrokerEndpoint, _ options: ConnectionOptions
  ) throws(AMQPError) {
    var timeout = timeval(options.rpcTimeout)
    amqp_set_handshake_timeout(connection, &timeout)
    amqp_set_rpc_timeout(connection, &timeout)
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
    throw refusal(reply, endpoint, options)
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
    _ reply: amqp_rpc_reply_t, _ endpoint: BrokerEndpoint, _ options: ConnectionOptions
  ) -> AMQPError {
    if reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION, reply.reply.id == cs_connection_close,
      let close = reply.reply.decoded?.assumingMemoryBound(to: amqp_connection_close_t.self).pointee
    {
      let code = Int(close.reply_code)
      let text = String(close.reply_text)
      if code == ReplyCodes.accessRefused {
        return AMQPError(
          .authenticationRefused, "the broker refuses user '\(endpoint.username)' or the password", replyCode: code)
      }
      let error = ReplyCodes.error(code, text)
      guard code == ReplyCodes.notAllowed else { return error }
      let what = error.code == .notFound ? "is missing" : "is closed to user '\(endpoint.username)'"
      return AMQPError(error.code, "virtual host '\(endpoint.virtualHost)' \(what)", replyCode: code)
    }
    guard reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION else {
      return AMQPError(.connectionLost, "the broker closed the connection during the login")
    }
    if reply.library_error == AMQP_STATUS_TIMEOUT.rawValue {
      return AMQPError(.timedOut, "no answer to the login within \(options.rpcTimeout); is this an AMQP port?")
    }
    let error = LibraryStatus.error(reply.library_error)
    return AMQPError(error.code, "login failed: \(error.message)")
  }
}

extension timeval {
  init(_ duration: Duration) {
    let microseconds = duration.nanoseconds / 1000
    self.init(tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
  }
}
