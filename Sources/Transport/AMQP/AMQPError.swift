/// An error between this process and the broker.
///
/// `description` is safe to log: it names hosts, users, queues and exchanges, never a password or a message.
public struct AMQPError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure. More kinds may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Base: String {
      case invalidURL, connectFailed, authenticationRefused, accessRefused, notFound, preconditionFailed
      case resourceLocked, tlsFailed, timedOut, connectionLost, closed, blocked, protocolViolation, tooLarge
      case canceled, nacked, consumerCanceled, consumerStalled, unwanted
    }

    private let base: Base
    private init(_ base: Base) { self.base = base }

    /// The broker's address is not an AMQP URL.
    public static let invalidURL = Code(.invalidURL)
    /// No TCP connection: the name is unknown, nothing listens on the port, or there is no route.
    public static let connectFailed = Code(.connectFailed)
    /// The broker does not accept the user or the password.
    public static let authenticationRefused = Code(.authenticationRefused)
    /// The user is known but may not do this.
    public static let accessRefused = Code(.accessRefused)
    /// A virtual host, an exchange, a queue or a route is missing.
    public static let notFound = Code(.notFound)
    /// The existing exchange, queue or consumer differs from the requested one.
    public static let preconditionFailed = Code(.preconditionFailed)
    /// Another connection uses the queue exclusively.
    public static let resourceLocked = Code(.resourceLocked)
    /// The TLS handshake failed, or the certificate is not trusted.
    public static let tlsFailed = Code(.tlsFailed)
    /// No answer within the limit.
    public static let timedOut = Code(.timedOut)
    /// The connection was open and has been lost.
    public static let connectionLost = Code(.connectionLost)
    /// This publisher, consumer or client was stopped.
    public static let closed = Code(.closed)
    /// The broker does not read from the connection because it is short of memory or disk.
    public static let blocked = Code(.blocked)
    /// The broker violated AMQP 0-9-1.
    public static let protocolViolation = Code(.protocolViolation)
    /// A message, a header table or a short string is longer than its limit.
    public static let tooLarge = Code(.tooLarge)
    /// The task that waited was canceled.
    public static let canceled = Code(.canceled)
    /// The broker did not accept the message, e.g. because the queue is full.
    public static let nacked = Code(.nacked)
    /// The broker canceled the consumer, e.g. because the queue was deleted.
    public static let consumerCanceled = Code(.consumerCanceled)
    /// The queue had messages, but the consumer received none.
    public static let consumerStalled = Code(.consumerStalled)

    /// The publisher no longer wants the message.
    public static let unwanted = Code(.unwanted)

    public var description: String { base.rawValue }
  }

  /// The kind of failure.
  public let code: Code
  /// Description of the failure and, where known, its remedy. Safe to log.
  public let message: String
  /// The reply code of AMQP 0-9-1 (section 1.2 of the reference), when the broker gave one.
  public let replyCode: Int?

  public init(_ code: Code, _ message: String, replyCode: Int? = nil) {
    self.code = code
    self.message = message
    self.replyCode = replyCode
  }

  public var description: String { "\(code): \(message)" }

  /// Whether the same call may succeed later without a change on this side.
  public var isRetriable: Bool {
    switch code {
    case .connectFailed, .timedOut, .connectionLost, .blocked, .nacked, .resourceLocked, .consumerCanceled,
      .consumerStalled, .notFound:
      true
    default: false
    }
  }
}
