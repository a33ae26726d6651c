public import CountersignTelemetry

/// The body of a message of the contract.
public protocol MessageBody: Codable, Sendable {
  /// The type under which it travels.
  static var type: MessageType { get }

  /// Reads a body. Fields that are not known are ignored.
  /// - Throws: what is wrong and in which field, never the value.
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

/// A request to the coordinator.
public protocol Command: MessageBody {
  /// The body of the reply when it succeeds; when it fails, the reply is an ``ErrorReply``.
  associatedtype Reply: MessageBody
}

extension Command {
  /// The routing key on the exchange of the commands: the type without its version.
  public static var routingKey: String { type.name }
}

/// A request to a worker.
public protocol Job: MessageBody {
  /// When it is worth nothing any more.
  var deadline: UnixTime { get }
}

extension Job {
  /// The routing key on the exchange of the jobs: the type without its version.
  public static var routingKey: String { type.name }
}

/// The coordinator's report of a change.
public protocol Event: MessageBody {}

extension Event {
  /// The routing key on the exchange of the events: the type without its version.
  public static var routingKey: String { type.name }
}
