/// Asks where an operation stands and what has happened: `operation.status`.
public struct GetOperationStatus: Command {
  public typealias Reply = OperationStatus
  public static let type = MessageType("operation.status")

  /// The ID of a revocation, or the receipt of `app.verify`.
  public var operationID: String

  public init(operationID: String) {
    self.operationID = operationID
  }
}
