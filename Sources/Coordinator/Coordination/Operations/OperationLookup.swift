import CountersignMessages
import CountersignTelemetry
import SQLite

/// Answers `operation.status` for a revocation or the receipt of an app.
struct OperationLookup: Sendable {
  private let proofPolicy: ProofPolicy

  init(_ rules: CoordinatorRules) {
    proofPolicy = rules.proof
  }

  func status(_ id: String, in transaction: CoordinatorTransaction) throws(DatabaseError) -> CommandAnswer {
    if let revocation = try transaction.revocation(id)?.content {
      return try .written(OperationStatus(revocation))
    }
    if var proof = try transaction.appProof(id)?.content {
      // An expiry that the maintenance has not processed yet is shown here.
      _ = proof.apply(.deadlinePassed, at: transaction.now, under: proofPolicy)
      return try .written(OperationStatus(proof))
    }
    return CommandAnswer(.unknownOperation)
  }
}

extension APIError {
  static let unknownOperation = APIError(
    .invalidSessionInfo,
    "there is no such operation, or it is too long over: give back an operationID, or the receipt of app.verify",
    field: "operationID")
}

extension OperationStatus {
  init(_ revocation: Revocation) {
    let state: State =
      switch revocation.state {
      case .revoking, .notifying: .running
      case .completed: .completed
      case .failed: .failed
      }
    self.init(
      operationID: revocation.id, kind: .appleRevocation, app: revocation.app, state: state,
      failure: revocation.failure.map { .init(code: $0.code, detail: $0.detail) }, startedAt: revocation.createdAt,
      expiresAt: revocation.expiresAt, timeline: revocation.timeline.entries.map(VerificationStatus.Entry.init))
    ending = revocation.ending
  }

  init(_ proof: AppProof) {
    let state: State =
      switch proof.state {
      case .waiting, .delivered: .running
      case .undelivered: .failed
      case .proven: .completed
      case .expired: .expired
      case .revoked: .revoked
      }
    self.init(
      operationID: proof.receipt, kind: .appVerification, app: proof.app, state: state,
      failure: proof.failure.map { .init(code: $0.code, detail: $0.detail) }, startedAt: proof.createdAt,
      expiresAt: proof.expiresAt, timeline: proof.timeline.entries.map(VerificationStatus.Entry.init))
  }
}
