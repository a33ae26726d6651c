import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects

struct CommandReader: Sendable {
  let rules: AccountRules
  let hashes: AccountHashes
  let idTokens: IDTokens
  let sealingKeys: PrivateSealingKeys
  let tickets: Tickets
  let limitMetrics: LimitMetrics

  func project(_ id: String) throws(APIError) -> Project {
    guard let project = rules.projects.current[id] else { throw .projectNotFound }
    return project
  }

  func requireMethod(_ method: Project.Method, of project: String) throws(APIError) {
    guard try self.project(project).methods.contains(method) else { throw .methodOff(method) }
  }

  func open(
    _ field: SecretField, _ name: String, of envelope: Envelope, replyKey: String?
  ) throws(APIError) -> Secret {
    let context = AccountCommandFields.context(
      of: envelope.type, messageID: envelope.messageID, replyKey: replyKey)
    do throws(SealError) {
      return try field.open(with: sealingKeys, for: context)
    } catch {
      throw APIError(error, field: name)
    }
  }

  /// With another key for the reply it is another command: its message ID, repeated, has the secrets sealed to the
  /// first key only.
  func fingerprints<C: SecretReplyCommand>(of command: C, _ parts: [String]) -> Fingerprints {
    hashes.fingerprints("secret reply", [C.type.text, command.replyKey] + parts)
  }

  func idToken(
    _ field: SecretField, project: String, of envelope: Envelope, at now: UnixTime
  ) throws(APIError) -> IDTokenCheck {
    let token = try open(field, "idToken", of: envelope, replyKey: nil)
    return IDTokenCheck(token: try idTokens.verify(token, project: project, at: now))
  }

  /// A command that asks for tokens while no key signs is refused before it changes anything.
  func seal(
    _ key: String, _ envelope: Envelope, _ reply: MessageType
  ) throws(APIError) -> ReplySeal {
    guard idTokens.keys.isReady else { throw .noSigningKey }
    return try ReplySeal(key: key, envelope, reply)
  }
}
