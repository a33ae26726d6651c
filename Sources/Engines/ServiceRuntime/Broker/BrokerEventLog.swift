import CountersignAMQP
import CountersignTelemetry

enum BrokerEventLog {
  static func write(_ event: ConnectionEvent, isRepeated: Bool = false, to logger: Logger) {
    switch event {
    case .connected:
      logger.info("connected to the broker")
    case .certificates:
      break
    case .disconnected(let error, _, let retryIn):
      let advice = advice(error)
      logger.log(
        isRepeated ? .debug : advice.level, advice.message,
        [.error: error.description, .hint: advice.hint, .retryIn: retryIn])
    case .channelReopened(let error):
      logger.warning("the broker closed the channel; reopening it", [.error: error.description])
    case .channelRenewed:
      logger.info("the broker refused a publication; the channel was replaced: a new one may be able to send it")
    case .blocked(let reason):
      logger.warning(
        "the broker accepts no messages for now",
        [.reason: reason, .hint: "free memory or disk on the broker's machine; see rabbitmqctl status"])
    case .unblocked:
      logger.info("the broker accepts messages again")
    case .consumerCanceled(let queue):
      logger.warning("the broker canceled the consumer; restarting it", [.queue: queue])
    case .consumerStalled(let queue):
      logger.warning("the queue has messages but delivers none; reconnecting", [.queue: queue])
    case .publicationGivenUp(let error):
      logger.error(
        "a publication was given up: the broker closes the connection each time it is sent",
        [.error: error.description, .hint: "see the broker's log for its objection"])
    case .stopped:
      logger.info("connection to the broker closed")
    }
  }

  struct Advice {
    let level: LogLevel
    let message: StaticString
    let hint: String?
  }

  /// Text and hint for a failed connection. Every one is retried by itself.
  static func advice(_ error: AMQPError) -> Advice {
    switch error.code {
    case .connectFailed:
      Advice(
        level: .warning, message: "the broker cannot be reached; trying again",
        hint: "start the broker, or correct broker.url")
    case .authenticationRefused:
      Advice(
        level: .error, message: "the broker refuses the user or the password; trying again",
        hint:
          "correct the content of broker.passwordFile, which is read at each attempt, or set the password with rabbitmqctl change_password"
      )
    case .accessRefused:
      Advice(
        level: .error, message: "the broker denies the user a permission; trying again",
        hint:
          "run countersign topology check; an administrator's countersign topology apply gives the rights that are declared"
      )
    case .notFound:
      Advice(
        level: .error, message: "something is missing on the broker; trying again",
        hint: "run countersign topology apply")
    // RabbitMQ closes the channel of a consumer that holds a delivery for longer than `consumer_timeout`.
    case .preconditionFailed where error.message.contains("delivery acknowledgement"):
      Advice(
        level: .warning, message: "the broker took a message back that was held for too long; trying again",
        hint: "this process was stopped or slow; the limit is consumer_timeout in the broker's rabbitmq.conf")
    case .preconditionFailed:
      Advice(
        level: .error, message: "something on the broker is declared differently; trying again",
        hint: "run countersign topology check")
    case .resourceLocked:
      Advice(
        level: .warning, message: "another process consumes the queue exclusively; waiting until it ends",
        hint:
          "only one may run at a time: end one of the two (rabbitmqctl list_consumers shows the other's host); this one takes over by itself. After a cut it may be its own earlier connection, until the broker misses two heartbeats of it. Several coordinators at once share one PostgreSQL database (docs/postgresql.md), and none runs beside them on SQLite"
      )
    case .tlsFailed:
      Advice(
        level: .error, message: "the TLS connection to the broker failed; trying again",
        hint: "correct broker.tls.caFile, or the broker's certificate")
    default:
      Advice(level: .warning, message: "the connection to the broker was lost; trying again", hint: nil)
    }
  }
}
