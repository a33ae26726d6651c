import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Correlation IDs of the commands that accounts sends: the kind of the record that waits for the reply, and its place.
///
/// The kind comes first, so that several flows can wait for replies of one type.
enum AwaitedReply {
  private static let separator: Character = "/"

  static func correlationID(_ kind: RecordKind, _ place: String) -> String { "\(kind.name)\(separator)\(place)" }

  /// Place of the record that waits for a reply. `nil` when it is of another kind.
  static func place(in envelope: Envelope, _ kind: RecordKind) -> String? {
    let parts = envelope.correlationID?.split(separator: separator, maxSplits: 1) ?? []
    return parts.count == 2 && parts[0] == kind.name ? String(parts[1]) : nil
  }

  /// The coordinator's replies of a type.
  static func kind(
    _ type: MessageType, read: @escaping @Sendable (ReceivedReport) throws(ContractProblem) -> (any Report)?
  ) -> ReportKind {
    ReportKind(type, from: .service(user: Topology.Users.coordinator), read: read)
  }
}

extension ReceivedReport {
  /// Record that waits for this reply. `nil` when it is of another kind.
  func waiting(_ kind: RecordKind) -> RecordID? {
    AwaitedReply.place(in: envelope, kind).flatMap { RecordID(kind, $0) }
  }

  /// The error, if the reply is one.
  func refusal() throws(ContractProblem) -> APIError? {
    envelope.type == ErrorReply.type ? try ErrorReply(json: body).error : nil
  }

  /// Elsewhere a reply that operators publish again is believed. This one proves something of a user.
  func requireCoordinator() throws(ContractProblem) {
    guard envelope.userID == Topology.Users.coordinator else {
      throw ContractProblem(.forgedResult, field: "user_id", "is not that of the coordinator itself")
    }
  }
}

/// The coordinator's answer to the start of a revocation, or to a look at its operation.
enum OperationReply {
  case started(SubjectRevocations.Operation)
  case state(OperationStatus)
  case refused(APIError)

  init(_ received: ReceivedReport) throws(ContractProblem) {
    switch received.envelope.type {
    case OperationStarted.type:
      self = .started(SubjectRevocations.Operation(try OperationStarted(json: received.body)))
    case OperationStatus.type: self = .state(try OperationStatus(json: received.body))
    default: self = .refused(try ErrorReply(json: received.body).error)
    }
  }
}
