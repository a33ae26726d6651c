import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.audit`: acts on a project, the latest first.
struct ListActsOrder: CommandOrder {
  private static let limits = 1...200

  private let project: String
  private let page: StoreKeys.GroupPage

  init(_ command: ListActs, _ reader: CommandReader) throws(APIError) {
    project = try reader.project(command.project).id
    page = try StoreKeys.GroupPage(of: ActRecord.kind, limit: command.limit, in: Self.limits, after: command.after)
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(group: try ActRecord.group(project), page)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let (records, isComplete) = try set.group(ActRecord.group(project), page)
    var rows: [ActRecord] = []
    for record in records { rows.append(try ActRecord(record)) }
    let shown = rows.prefix(ReplyRoom.fitting(try rows.map { row throws(StoreError) in try row.act.written().count }))
    var reply = ActsListed(acts: shown.map(\.act))
    if shown.count < rows.count || !isComplete { reply.next = shown.last?.id.text }
    return try CommandAnswer(reply)
  }
}
