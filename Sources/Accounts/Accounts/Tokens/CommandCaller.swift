import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The ID token of a command, or the reason to refuse it.
///
/// The refusal waits until the command is carried out: one that was answered before its token expired is answered
/// alike.
struct CommandCaller: Sendable {
  /// `nil` for one that is refused.
  let check: IDTokenCheck?
  private let refusal: APIError?
  let text: String

  init(
    _ field: SecretField, project: String, of envelope: Envelope, at now: UnixTime, replyKey: String? = nil,
    _ reader: CommandReader
  ) throws(APIError) {
    let token = try reader.open(field, "idToken", of: envelope, replyKey: replyKey)
    text = token.reveal()
    do throws(APIError) {
      check = IDTokenCheck(token: try reader.idTokens.verify(token, project: project, at: now))
      refusal = nil
    } catch {
      (check, refusal) = (nil, error)
    }
  }

  var isValid: Bool { check != nil }

  func holder(
    in set: WorkingSet, _ rules: SessionRules
  ) throws(StoreError) -> Result<IDTokenCheck.Holder, APIError> {
    guard let check else { return .failure(refusal ?? .invalidIDToken) }
    return try check.holder(in: set, rules)
  }
}
