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
    guard Self.limits.contains(command.limit) else {
      throw APIError(
        .invalidArgument, "limit must be \(Self.limits.lowerBound) to \(Self.limits.upperBound)", field: "limit")
    }
    page = StoreKeys.GroupPage(behind: try ListPlace.read(command.after, ActRecord.kind), limit: command.limit)
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

/// Place to go on from in a list: the ID of its last record.
enum ListPlace {
  /// - Throws: `INVALID_ARGUMENT` for a text that no list has given.
  static func read(_ text: String?, _ kind: RecordKind) throws(APIError) -> String {
    guard let text else { return "" }
    guard RecordID(kind, text) != nil else {
      throw APIError(.invalidArgument, "after is not the 'next' of a reply", field: "after")
    }
    return text
  }
}

/// Room for the elements of a list in a reply.
enum ReplyRoom {
  /// Maximum size of the rest of the body.
  private static let rest = 4_096

  /// Number of elements that fit, by their bytes: at least one.
  static func fitting(_ sizes: [Int]) -> Int {
    var room = MessageLimits.maxBodyBytes - rest
    let count = sizes.prefix { size in
      room -= size + 1
      return room >= 0
    }.count
    return max(count, min(1, sizes.count))
  }
}
