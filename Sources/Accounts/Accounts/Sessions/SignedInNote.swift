import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Content of the inbox in place of an answer with tokens: the session. The answer is made from it once more, with new
/// tokens, while account and session go on.
struct SignedInNote: Sendable, Hashable {
  let sessionID: String
  let isNewUser: Bool

  init(_ session: SessionRecord, isNewUser: Bool) {
    sessionID = session.id.text
    self.isNewUser = isNewUser
  }

  var bytes: [UInt8] { [UInt8(ascii: isNewUser ? "n" : "k")] + Array(sessionID.utf8) }

  init(_ bytes: [UInt8]) throws(StoreError) {
    guard let first = bytes.first, first == UInt8(ascii: "n") || first == UInt8(ascii: "k") else {
      throw StoreError.unreadableBody
    }
    sessionID = String(decoding: bytes.dropFirst(), as: UTF8.self)
    isNewUser = first == UInt8(ascii: "n")
  }

  func holder(
    project: String, in set: WorkingSet, _ rules: SessionRules
  ) throws(StoreError) -> Result<IDTokenCheck.Holder, APIError> {
    guard let id = SessionRecord.account(ofSession: sessionID),
      let account = try AccountRecord.find(id, project: project, in: set)
    else { return .failure(.userNotFound) }
    guard !account.isDisabled else { return .failure(.userDisabled) }
    guard let session = try SessionRecord.find(sessionID, in: set), !session.isOver(at: set.now, of: account, rules)
    else { return .failure(.sessionEnded) }
    return .success(IDTokenCheck.Holder(account: account, session: session))
  }
}
