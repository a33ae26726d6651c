import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Whom a second factor is asked of: a signed-in user who enrols it, or the holder of a pending credential.
enum SecondFactorAsker: Sendable {
  case user(CommandCaller)
  case pending(ids: [RecordID], text: String)

  /// - Throws: `MISSING_MFA_PENDING_CREDENTIAL` where there is neither, and errors of the seals.
  init(
    idToken: SecretField?, pendingCredential: SecretField?, project: Project, _ envelope: Envelope, replyKey: String,
    at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) {
    if let idToken {
      self = .user(
        try CommandCaller(idToken, project: project.id, of: envelope, at: now, replyKey: replyKey, reader))
      return
    }
    guard let pendingCredential else { throw .missingPendingCredential }
    let text = try reader.open(pendingCredential, "pendingCredential", of: envelope, replyKey: replyKey)
    self = .pending(ids: reader.tickets.ids(of: text), text: text.reveal())
  }

  /// Its part of the command's fingerprint.
  var part: String {
    switch self {
    case .user(let caller): caller.text
    case .pending(_, let text): text
    }
  }

  func addKeys(to keys: inout StoreKeys) {
    switch self {
    case .user(let caller): caller.check?.addKeys(to: &keys)
    case .pending(let ids, _): for id in ids { keys.add(record: id) }
    }
  }
}
