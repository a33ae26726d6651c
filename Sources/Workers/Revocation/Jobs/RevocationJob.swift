import CountersignMessages
import CountersignTelemetry

/// An `apple.revoke` job, checked and opened.
public struct RevocationJob: Sendable {
  /// What is sent to Apple.
  enum Step: Sendable {
    case exchange(code: Secret, redirectURI: String?)
    case revoke(token: Secret, hint: String)
  }

  let app: String
  let clientID: String?
  let deadline: UnixTime
  let step: Step
}

/// How far a revocation came, as results name it.
enum RevocationStage: String {
  case exchange, revoke, revoked

  static let key = "stage"

  var value: JobResult.Value { .string(rawValue) }
}
