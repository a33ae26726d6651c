import CountersignCRabbitMQ

enum LibraryStatus {
  static func error(_ status: Int32) -> AMQPError {
    AMQPError(code(status), String(cString: amqp_error_string2(status)))
  }

  private static func code(_ status: Int32) -> AMQPError.Code {
    switch status {
    case AMQP_STATUS_TIMEOUT.rawValue, AMQP_STATUS_HEARTBEAT_TIMEOUT.rawValue: .timedOut
    case AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED.rawValue: .connectFailed
    case AMQP_STATUS_CONNECTION_CLOSED.rawValue, AMQP_STATUS_SOCKET_ERROR.rawValue,
      AMQP_STATUS_SOCKET_CLOSED.rawValue, AMQP_STATUS_TCP_ERROR.rawValue, AMQP_STATUS_SSL_ERROR.rawValue,
      AMQP_STATUS_NO_MEMORY.rawValue:
      .connectionLost
    case AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED.rawValue, AMQP_STATUS_SSL_PEER_VERIFY_FAILED.rawValue,
      AMQP_STATUS_SSL_CONNECTION_FAILED.rawValue:
      .tlsFailed
    case AMQP_STATUS_TABLE_TOO_BIG.rawValue: .tooLarge
    default: .protocolViolation
    }
  }
}
