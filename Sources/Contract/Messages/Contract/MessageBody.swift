public import CountersignTelemetry

/// Body of a message of the contract.
public protocol MessageBody: Codable, Sendable {
  /// Type of its messages.
  static var type: MessageType { get }

  /// Reads a body. Unknown fields are ignored.
  /// - Throws: the problem and its field, never the value.
  init(json: [UInt8]) throws(ContractProblem)
}

extension MessageBody {
  public init(json: [UInt8]) throws(ContractProblem) {
    self = try ContractJSON.decode(Self.self, from: json)
  }

  /// The body as UTF-8 JSON, at most ``MessageLimits/maxBodyBytes`` long.
  /// - Throws: ``ContractProblem/Code-swift.struct/bodyTooLarge``.
  public func json() throws(ContractProblem) -> [UInt8] {
    try ContractJSON.encode(self)
  }
}

/// Request to the coordinator, to `accounts` or to the `webhook-worker`.
public protocol Command: MessageBody {
  /// Body of the reply to a successful command. The reply to a refused one is an ``ErrorReply``.
  associatedtype Reply: MessageBody
}

extension Command {
  /// Routing key on the exchange of the commands: the type without its version.
  public static var routingKey: String { type.name }
}

/// Request to a worker.
public protocol Job: MessageBody {
  /// Time after which the job is worthless.
  var deadline: UnixTime { get }
}

extension Job {
  /// Routing key on the exchange of the jobs: the type without its version.
  public static var routingKey: String { type.name }
}

/// Report of a change, by the process that made it.
public protocol Event: MessageBody {}

extension Event {
  /// Routing key on the exchange of the events: the type without its version.
  public static var routingKey: String { type.name }
}

/// Limits of the contract.
public enum MessageLimits {
  /// Maximum bytes of a body. A larger one is refused on both sides.
  public static let maxBodyBytes = 64 * 1024
  /// Maximum bytes of an ID, a type or a routing key: AMQP's short strings have one byte for their length.
  public static let maxShortStringBytes = 255
  /// Maximum bytes of a text in a header (`x-last-error`). A longer one is cut. All headers of a message fit into one
  /// frame.
  public static let maxHeaderTextBytes = 512
  /// Maximum bytes of all headers of a received message. AMQP's publisher accepts twice as much, which leaves room for
  /// the headers that retries, the broker and dead letters add.
  public static let maxHeaderBytes = 32 * 1024
}
