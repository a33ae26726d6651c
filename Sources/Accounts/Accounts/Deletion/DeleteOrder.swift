import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.delete`: deletes an ID token's account with its sessions. Its number is free again.
struct DeleteOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let former: [[UInt8]]
  private let caller: CommandCaller
  private let sessions: Sessions
  private let recentLogin: Project.RecentLogin

  init(
    _ command: DeleteAccount, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) {
    let project = try reader.project(command.project)
    caller = try CommandCaller(command.idToken, project: project.id, of: envelope, at: now, reader)
    sessions = Sessions(rules: reader.rules.sessions)
    recentLogin = project.recentLogin
    (fingerprint, former) = reader.hashes.fingerprints("delete", [project.id, caller.text])
  }

  func formerFingerprints() -> [[UInt8]] { former }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, sessions.rules) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    do throws(APIError) {
      try holder.require(.deletion, recentLogin, at: set.now)
    } catch {
      return CommandAnswer(error)
    }
    let account = holder.account
    try sessions.delete(account, in: &set)
    return try CommandAnswer(set.announceDeletion(of: account, cause: envelope))
  }
}
