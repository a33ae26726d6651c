import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import JobEngine

struct RevocationClient: Sendable, Hashable {
  let app: String
  let clientID: String
}

struct RevocationCall: Sendable {
  let step: RevocationJob.Step
  /// Earlier calls of the job with an unknown outcome.
  var unknownCalls = 0
  /// `nil` for a step that yields no token.
  var nextStage: NextStageWriter?
}

/// The same job with the token in the place of the code.
struct NextStageWriter: Sendable {
  enum Token: Sendable {
    case refreshToken(Secret)
    /// There was no refresh token. Revoking this one ends the grant as well.
    case accessToken(Secret)
  }

  let job: RevocationJob
  let jobID: String
  let deadline: UnixTime
  let sealer: Sealer

  static func id(of jobID: String) -> String { jobID + ".revoke" }

  /// - Parameter subject: the subject that Apple gave with the token, for the result.
  func outcome(_ token: Token, of subject: String?) -> Classification {
    if let expected = job.subject, expected != subject { return .refused(.subjectMismatch) }
    let id = Self.id(of: jobID)
    do {
      let sealed: AppleToken
      switch token {
      case .refreshToken(let secret): sealed = .refreshToken(try seal(secret, id))
      case .accessToken(let secret): sealed = .accessToken(try seal(secret, id))
      }
      var next = AppleRevokeJob(app: job.app, clientID: job.clientID, token: sealed, deadline: deadline)
      next.subject = subject
      return .continued(as: NextStage(messageID: id, body: try next.json()))
    } catch {
      // Larger than a message, or the keys cannot seal: there is no safe place for the token.
      return .lost(.lost)
    }
  }

  private func seal(_ token: Secret, _ id: String) throws -> SecretField {
    try sealer.seal(token, for: SealContext(messageType: AppleRevokeJob.type, messageID: id, recipient: job.app))
  }
}
