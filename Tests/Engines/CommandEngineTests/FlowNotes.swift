import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Synchronization

@testable import CommandEngine
@testable import RecordStore

/// Command `note.put`, whose text says what happens to it.
struct PutNote: Command {
  typealias Reply = NoteKept
  static let type = MessageType("note.put")

  var text: String
  var sends: [Sending]?

  enum Sending: String, Codable {
    case job, heldJob, event, command
    case unreadable, heldUnreadable
    /// An event whose correlation ID AMQP has no room for.
    case tooLong
  }
}

struct NoteKept: MessageBody, Hashable {
  static let type = MessageType("note.kept")

  var text: String
}

/// Command `note.look`, which changes nothing.
struct LookAtNote: Command {
  typealias Reply = NoteKept
  static let type = MessageType("note.look")

  var text: String
}

struct SignNote: Command {
  typealias Reply = NoteKept
  static let type = MessageType("note.sign")

  var text: String
}

/// Command `note.request`, for requesters, whose answer is kept long.
struct RequestNote: Command {
  typealias Reply = NoteKept
  static let type = MessageType("note.request")
  static let answerIsKeptFor = Duration.seconds(7200)

  var text: String
}

struct NoteExpired: Event {
  static let type = MessageType("note.expired")

  var text: String
}

/// A flow as small as can be: notes that expire.
struct NoteFlow: Flow {
  static let kind = RecordKind("note")
  static let live = KeySpace(kind, "live")
  static let lifetime = Duration.seconds(60)
  static let retention = Duration.seconds(3600)
  static let part = MaintenancePart(rawValue: "end_notes")
  static let taskPart = MaintenancePart(rawValue: "look_around")

  /// Counts notes once they are stored.
  let stored: Counter
  let stages: StageScript
  let runs: RunLog
  let ended: Counter
  let rounds: Counter

  var commands: [CommandKind] {
    [
      CommandKind(PutNote.self, isRefusedLate: true) { [self] command, _, _ throws(APIError) in
        if command.text.isEmpty { throw APIError(.invalidArgument, "is empty", field: "text") }
        return PutNoteOrder(command, self)
      },
      CommandKind(LookAtNote.self, isLook: true) { command, _, _ throws(APIError) in LookOrder(text: command.text) },
      CommandKind(SignNote.self, users: .operators) { [self] command, _, _ throws(APIError) in
        PutNoteOrder(PutNote(text: command.text), self)
      },
      CommandKind(RequestNote.self, users: .requesters, answerIsKeptFor: RequestNote.answerIsKeptFor) {
        [self] command, _, _ throws(APIError) in PutNoteOrder(PutNote(text: command.text), self)
      },
    ]
  }

  var reports: [ReportKind] {
    [
      ReportKind(
        JobResult.type(ofJob: SMSDispatchJob.type), from: .worker(routingKeyPrefix: SMSDispatchJob.routingKey),
        dropped: { NoteReport(jobID: $0, word: "dropped") },
        read: { received throws(ContractProblem) in
          guard let result = try received.jobResult(of: { NoteReport(jobID: $0, word: "") != nil }) else { return nil }
          return NoteReport(jobID: result.jobID, word: result.outcome.rawValue)
        }),
      .reply(ErrorReply.type, of: Topology.Users.gateway), .reply(NoteKept.type, of: Topology.Users.gateway),
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(Self.kind, part: Self.part) { [ended] record, set throws(StoreError) in
        let note = try Note(record)
        if record.dueAt == record.discardAt { return try set.remove(record.id) }
        if note.text == "untouched" { return }
        if note.text.hasPrefix("linked") { _ = try Note.find(note.text + ".other", in: set) }
        try set.send(
          .event(NoteExpired(text: note.text), id: note.text, correlationID: note.text, cause: nil, at: set.now))
        switch note.text {
        case "half": throw StoreError.unreadableBody
        case "stale": throw StoreError(.notLoaded, "a look at another set")
        case "endlessEnd": _ = try Note.find(MessageID.make(), in: set)
        default: break
        }
        set.afterCommit { ended.increment() }
        try note.store(isLive: false, in: &set)
      }
    ]
  }

  var operations: [OperationRecords] {
    [
      OperationRecords(Self.kind) { record, _ throws(StoreError) in
        let note = try Note(record)
        return OperationStatus(
          operationID: note.text, kind: OperationKind(rawValue: "note"), app: note.word, state: .running,
          startedAt: UnixTime(seconds: 0), expiresAt: UnixTime(seconds: 0), timeline: [])
      }
    ]
  }

  var tasks: [FlowTask] {
    [
      FlowTask(Self.taskPart) { [rounds] _, _ in
        rounds.increment()
        return false
      }
    ]
  }
}

/// A second flow that waits for another service, whose errors have the same type.
struct OtherFlow: Flow {
  var reports: [ReportKind] { [.reply(ErrorReply.type, of: Topology.Users.accounts)] }
}

extension ReportKind {
  fileprivate static func reply(_ type: MessageType, of user: String) -> ReportKind {
    ReportKind(type, from: .service(user: user)) { received throws(ContractProblem) in
      guard let text = received.envelope.correlationID, received.envelope.messageID != "not-ours" else { return nil }
      if type == ErrorReply.type { _ = try ErrorReply(json: received.body) }
      return NoteReport(jobID: text + ".job", word: user)
    }
  }
}

/// Work before the transaction of commands whose text begins with `slow`.
final class StageScript: Sendable {
  typealias Script = @Sendable (String, StageAccess) async throws(StoreError) -> Void

  private let script = Mutex<Script>({ _, _ in })
  let longest = Mutex(CommandStage.longest)
  let changesStore = Mutex(false)

  func set(_ body: @escaping Script) { script.withLock { $0 = body } }

  func run(_ text: String, _ access: StageAccess) async throws(StoreError) {
    let body = script.withLock { $0 }
    try await body(text, access)
  }
}

/// Runs of `note.put`: what was loaded when each began.
final class RunLog: Sendable {
  private let runs = Mutex<[(text: String, rounds: Int, keys: Int)]>([])

  var all: [(text: String, rounds: Int, keys: Int)] { runs.withLock { $0 } }

  func note(_ text: String, _ set: WorkingSet) {
    let run = (text: text, rounds: set.rounds, keys: set.keyCount)
    runs.withLock { $0.append(run) }
  }
}

struct Note {
  let text: String
  var word = ""

  init(text: String) { self.text = text }

  func store(isLive: Bool = true, in set: inout WorkingSet) throws(StoreError) {
    guard let id = RecordID(NoteFlow.kind, text) else { throw StoreError.unreadableBody }
    let discardAt = set.now + NoteFlow.lifetime + NoteFlow.retention
    try set.store(
      id, self, dueAt: isLive ? set.now + NoteFlow.lifetime : discardAt, discardAt: discardAt,
      uniqueKeys: isLive ? [UniqueKey(NoteFlow.live, Array(text.utf8))] : [])
  }

  static func find(_ text: String, in set: WorkingSet) throws(StoreError) -> Note? {
    guard let id = RecordID(NoteFlow.kind, text), let record = try set.record(id) else { return nil }
    return try Note(record)
  }
}

extension Note: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ note: Self?) throws(UnreadableFields) {
    text = try fields.required(1, note?.text)
    word = try fields.required(2, note?.word)
  }
}

struct PutNoteOrder: CommandOrder {
  let command: PutNote
  let flow: NoteFlow
  var text: String { command.text }

  init(_ command: PutNote, _ flow: NoteFlow) {
    self.command = command
    self.flow = flow
  }

  /// Notes that `chain3` looks up, each when it knows the one before.
  private var chain: Int { text.hasPrefix("chain") ? Int(text.dropFirst(5)) ?? 0 : 0 }

  var fingerprint: [UInt8] { Array(("new " + text).utf8.prefix(64)) }
  func formerFingerprints() -> [[UInt8]] { [Array(("old " + text).utf8.prefix(64))] }

  var stage: CommandStage? {
    guard text.hasPrefix("slow") else { return nil }
    let window: CommandStage.Window = text.hasPrefix("slow-provider") ? .providers : .general
    let longest = flow.stages.longest.withLock { $0 }
    let changesStore = flow.stages.changesStore.withLock { $0 }
    return CommandStage(window: window, longest: longest, changesStore: changesStore) {
      [self] access throws(StoreError) in
      try await flow.stages.run(text, access)
      return self
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    if text == "longKey" { keys.add(holderOf: try UniqueKey(NoteFlow.live, Array(repeating: 0, count: 65))) }
    if isForeseen, let id = RecordID(NoteFlow.kind, text) { keys.add(record: id) }
  }

  /// Such a note names all that it looks up, one thing after the other.
  private var isForeseen: Bool { text.hasPrefix("foreseen") }
  private var next: String { "\(text).next" }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    guard isForeseen else { return }
    if text == "foreseenOnce", try Note.find(text, in: set) != nil { throw StoreError(.content, "no key") }
    if let id = RecordID(NoteFlow.kind, next) { keys.add(record: id) }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    flow.runs.note(text, set)
    set.afterCommit { [stored = flow.stored] in stored.increment() }
    if isForeseen { _ = try Note.find(next, in: set) }
    for step in 0..<chain { _ = try Note.find("\(text).\(step)", in: set) }
    switch text {
    case "poison": throw StoreError(.content, "poison")
    case "mistake": throw StoreError(.statement, "no such table")
    case "misuse": throw StoreError(.misuse, "a record is not the one that was loaded")
    case "endless": _ = try Note.find(MessageID.make(), in: set)
    case "nothing": return try CommandAnswer(NoteKept(text: text))
    default: break
    }
    var note = try text == "blind" ? Note(text: text) : Note.find(text, in: set) ?? Note(text: text)
    if text == "caught" { note.word = (try? Note.find("a", in: set)) == nil ? "missed" : "found" }
    try note.store(in: &set)
    for sending in command.sends ?? [] { try send(sending, envelope, in: &set) }
    switch text {
    case "transient": return CommandAnswer(APIError(.quotaExceeded, "later", retryAfter: 9))
    case "refused": return CommandAnswer(APIError(.invalidCode, "no"))
    case "wait": return nil
    case "secret": return try answerAgain([7], in: &set)
    default: return try CommandAnswer(NoteKept(text: text))
    }
  }

  private func send(
    _ sending: PutNote.Sending, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    switch sending {
    case .job: try set.send(job(envelope, at: set.now))
    case .heldJob: try set.send(job(envelope, at: set.now), afterReplyTo: envelope.identity)
    case .event: try set.send(event(text, envelope, at: set.now))
    case .tooLong: try set.send(event(String(repeating: "c", count: 300), envelope, at: set.now))
    case .unreadable: try set.send(OutboxMessage(type: "later.v9", content: [9]))
    case .heldUnreadable:
      let hold = OutboxMessage.Hold(
        untilReplyTo: try InboxKey(envelope.identity.key), orAt: set.now + WorkingSet.longestHold)
      try set.send(OutboxMessage(type: "later.v9", content: [9], hold: hold))
    case .command:
      try set.send(
        .command(
          LookAtNote(text: text), id: text + ".look", correlationID: text, replyTo: Topology.Queues.results,
          cause: envelope, deadline: set.now + NoteFlow.lifetime, at: set.now))
    }
  }

  private func job(_ envelope: Envelope, at now: UnixTime) -> OutgoingMessage {
    .job(
      SMSDispatchJob.type, id: text + ".job", correlationID: text, cause: envelope,
      deadline: now + NoteFlow.lifetime, body: Array("{}".utf8), at: now)
  }

  private func event(
    _ correlationID: String, _ envelope: Envelope, at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    try .event(NoteExpired(text: text), id: text + ".event", correlationID: correlationID, cause: envelope, at: now)
  }

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    guard var note = try Note.find(text, in: set), note.word != "over" else { return false }
    note.word = envelope.replyTo ?? ""
    try note.store(in: &set)
    return true
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    var answer = try CommandAnswer(NoteKept(text: "hidden \(note)"))
    answer.note = note
    return answer
  }
}

struct LookOrder: CommandOrder {
  let text: String

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if text == "mistake" { throw StoreError(.statement, "no such table") }
    return try CommandAnswer(NoteKept(text: Note.find(text, in: set)?.text ?? "none"))
  }
}

struct NoteReport: Report {
  let text: String
  let word: String

  init?(jobID: String, word: String) {
    guard jobID.hasSuffix(".job") else { return nil }
    text = String(jobID.dropLast(4))
    self.word = word
  }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    guard var note = try Note.find(text, in: set) else { return }
    if note.text == "poison" { throw StoreError(.content, "poison") }
    note.word = word
    try note.store(in: &set)
    if word == "dropped" {
      try set.send(
        .event(NoteExpired(text: text), id: text + ".dropped", correlationID: text, cause: cause, at: set.now))
    }
  }
}
