import CommandEngine
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

/// The record of operators' acts.
struct ActsFlow: Flow {
  var commands: [CommandKind] {
    [
      CommandKind(NoteAct.self, users: .operators) { command, _, _ throws(APIError) in
        try NoteActOrder(command)
      },
      CommandKind(ListOperatorActs.self, users: .operators, isLook: true) { command, _, _ throws(APIError) in
        try ListActsOrder(command)
      },
    ]
  }
}

/// `operator.note`: an act that is done elsewhere.
struct NoteActOrder: CommandOrder {
  private static let wordLength = 1...64
  private static let subjectBytes = 1...256

  private let act: String
  private let subject: String?
  private let actID = MessageID.make()

  init(_ command: NoteAct) throws(APIError) {
    let isWord = command.act.isMatched(
      by: { $0.isLetterOrDigit || $0 == "." || $0 == "-" }, length: Self.wordLength)
    guard isWord else {
      throw APIError(
        .invalidArgument, "act must be up to \(Self.wordLength.upperBound) letters, digits, dots and hyphens",
        field: "act")
    }
    if let subject = command.subject {
      let isLine = !subject.unicodeScalars.contains(where: \.isLayoutControl)
      guard Self.subjectBytes.contains(subject.utf8.count), isLine else {
        throw APIError(
          .invalidArgument, "subject must be a line of up to \(Self.subjectBytes.upperBound) bytes", field: "subject")
      }
    }
    (act, subject) = (command.act, command.subject)
  }

  var fingerprint: [UInt8] { CommandFingerprint.hash(NoteAct.type.text, [act, subject ?? ""]) }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try ActRecord.note(act, on: subject, id: actID, envelope, in: &set)
    return try CommandAnswer(ActNoted())
  }
}

/// `operator.audit`: what the coordinator has noted, the latest first.
struct ListActsOrder: CommandOrder {
  private static let limits = 1...200

  private let page: StoreKeys.GroupPage

  init(_ command: ListOperatorActs) throws(APIError) {
    page = try StoreKeys.GroupPage(of: ActRecord.kind, limit: command.limit, in: Self.limits, after: command.after)
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(group: try ActRecord.group, page)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let (records, isComplete) = try set.group(ActRecord.group, page)
    var rows: [ActRecord] = []
    for record in records { rows.append(try ActRecord(record)) }
    let sizes = try rows.map { row throws(StoreError) in
      try OperatorActsListed(acts: [row.act]).written().count
    }
    let shown = rows.prefix(ReplyRoom.fitting(sizes))
    var reply = OperatorActsListed(acts: shown.map(\.act))
    if shown.count < rows.count || !isComplete { reply.next = shown.last?.id.text }
    return try CommandAnswer(reply)
  }
}
