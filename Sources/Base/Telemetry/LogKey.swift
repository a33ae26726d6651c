/// The name of a value in a log event: lower case, words of one thing joined by dots (`job.id`).
///
/// Names that more than one module uses are constants here, so that one search finds a job in the logs of all processes.
public struct LogKey: Sendable, Hashable, ExpressibleByStringLiteral {
  public let name: String

  public init(_ name: String) {
    self.name = name
  }

  public init(stringLiteral value: String) {
    name = value
  }

  public static let jobID: LogKey = "job.id"
  public static let messageID: LogKey = "message.id"
  public static let messageType: LogKey = "message.type"
  public static let correlationID: LogKey = "correlation.id"
  public static let verificationID: LogKey = "verification.id"
  public static let operationID: LogKey = "operation.id"
  public static let traceID: LogKey = "trace.id"
  public static let queue: LogKey = "queue"
  public static let exchange: LogKey = "exchange"
  public static let routingKey: LogKey = "routing_key"
  public static let lane: LogKey = "lane"
  public static let attempt: LogKey = "attempt"
  public static let outcome: LogKey = "outcome"
  public static let reason: LogKey = "reason"
  public static let phoneNumber: LogKey = "phone_number"
  public static let app: LogKey = "app"
  public static let service: LogKey = "service"
  public static let error: LogKey = "error"
  /// Hint for the reader: how to fix the cause.
  public static let hint: LogKey = "hint"
  public static let retryIn: LogKey = "retry.in"
  public static let count: LogKey = "count"
  public static let duration: LogKey = "duration"
}
