public import CountersignTelemetry

/// Command `revocation.confirm`: notes in a revocation's timeline that Apple has told of the end of the consent.
///
/// A command of `accounts` alone, to which Apple tells it. It changes no outcome, and a repetition nothing at all.
public struct ConfirmRevocation: Command, Hashable {
  public typealias Reply = OperationStatus
  public static let type = MessageType("revocation.confirm")

  /// ID of the revocation.
  public var operationID: String
  /// Time that Apple names.
  public var confirmedAt: UnixTime

  public init(operationID: String, confirmedAt: UnixTime) {
    self.operationID = operationID
    self.confirmedAt = confirmedAt
  }
}
