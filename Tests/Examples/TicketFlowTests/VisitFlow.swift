import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Command `visit.add`: counts a visit of a page.
struct AddVisit: Command {
  typealias Reply = VisitAdded
  static let type = MessageType("visit.add")

  var page: String
}

struct VisitAdded: MessageBody {
  static let type = MessageType("visit.added")

  var visits: Int
}

/// Visits of pages, a record a page, kept for a day after the last one.
struct VisitFlow: Flow {
  static let pages = RecordKind("page")

  var commands: [CommandKind] {
    [
      CommandKind(AddVisit.self) { command, _, _ throws(APIError) in
        guard let page = RecordID(Self.pages, command.page) else {
          throw APIError(.invalidArgument, "page must be 1 to 128 visible ASCII characters", field: "page")
        }
        return AddVisitOrder(page: page)
      }
    ]
  }
}

private struct AddVisitOrder: CommandOrder {
  let page: RecordID

  var fingerprint: [UInt8] { Array(page.text.utf8) }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    var visits = 1
    if let record = try set.record(page) { visits += try FieldReader(record.body).number(1) ?? 0 }
    var body = FieldWriter()
    body.put(1, visits)
    try set.store(page, body: body.bytes, dueAt: nil, discardAt: set.now + .seconds(86_400))
    return try CommandAnswer(VisitAdded(visits: visits))
  }
}
