import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.delete`: deletes an ID token's account.
struct DeleteOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let caller: CommandCaller
  private let deletion: Deletion
  private let recentLogin: Project.RecentLogin

  init(
    _ command: DeleteAccount, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader, _ deletion: Deletion
  ) throws(APIError) {
    let project = try reader.project(command.project)
    caller = try CommandCaller(command.idToken, project: project.id, of: envelope, at: now, reader)
    self.deletion = deletion
    recentLogin = project.recentLogin
    fingerprints = reader.hashes.fingerprints("delete", [project.id, caller.text])
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let holder: IDTokenCheck.Holder
    switch try caller.holder(in: set, deletion.sessions.rules) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): holder = found
    }
    do throws(APIError) {
      if !holder.session.mayDelete(at: set.now) { try holder.require(.deletion, recentLogin, at: set.now) }
    } catch {
      return CommandAnswer(error)
    }
    return try CommandAnswer(deletion.delete(holder.account, cause: envelope, in: &set))
  }
}
