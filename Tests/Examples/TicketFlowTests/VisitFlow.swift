import CommandEngine
import CountersignEncoding
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

/// Visits of a page as they are stored.
private struct Visits {
  var count: Int
}

extension Visits: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ visits: Self?) throws(UnreadableFields) {
    count = try fields.required(1, visits?.count)
  }
}

private struct AddVisitOrder: CommandOrder {
  let page: RecordID

  var fingerprint: [UInt8] { Array(page.text.utf8) }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    var visits = Visits(count: 1)
    if let record = try set.record(page) { visits.count += try Visits(record).count }
    try set.store(page, visits, dueAt: nil, discardAt: set.now + .seconds(86_400))
    return try CommandAnswer(VisitAdded(visits: visits.count))
  }
}
