import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

struct LookUpOrder: CommandOrder {
  private let caller: IDTokenCheck
  private let rules: SessionRules

  init(
    _ command: LookUpAccount, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) {
    let project = try reader.project(command.project)
    caller = try reader.idToken(command.idToken, project: project.id, of: envelope, at: now)
    rules = reader.rules.sessions
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) { caller.addKeys(to: &keys) }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    switch try caller.holder(in: set, rules) {
    case .failure(let error): CommandAnswer(error)
    case .success(let holder): try CommandAnswer(AccountFound(account: holder.account.view))
    }
  }
}
