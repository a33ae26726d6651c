import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// An address that takes events, as it is stored.
struct Webhook: Sendable, Hashable {
  enum State: String {
    case enabled
    /// The server has answered 410.
    case gone
    /// Nothing but failures for ``switchOffAfter``.
    case failing
    /// The rest of its events is being deleted.
    case removed
  }

  /// Deliveries that are to be made again.
  struct Replay: Sendable, Hashable {
    /// Time of the earliest delivery.
    let since: UnixTime
    /// Time of the command: what is delivered later is not repeated.
    let until: UnixTime
    /// ID of the last event that was taken up. Empty before the first.
    var behind = ""
  }

  static let kind = RecordKind("webhook")
  private static let all = KeySpace(kind, "all")
  private static let prefix = "wh"

  /// Each event is compared with all of them.
  static let maxCount = 64
  /// Time of nothing but failures after which a webhook is switched off. Events are kept for three days, so two more
  /// days have passed without a single success.
  static let switchOffAfter = Duration.seconds(5 * 86_400)
  private static let maxFailureCharacters = 200

  let id: RecordID
  let url: String
  let patterns: [EventPattern]
  /// See ``WebhookSecrets``.
  var sealedSecret: String
  let createdAt: UnixTime
  var state = State.enabled
  /// Time of the first failure after the last success.
  private(set) var failingSince: UnixTime?
  /// The latest failure since then. See ``Outcome/failure``.
  private(set) var lastFailure: String?
  var replay: Replay?

  func takes(_ type: MessageType) -> Bool { state == .enabled && patterns.contains { $0.matches(type) } }

  // MARK: Its other records

  /// Kinds of their own have the events of each webhook swept apart, the oldest first.
  var eventKind: RecordKind { RecordKind("webhookEvent\(id.text)") }
  var deliveredKind: RecordKind { RecordKind("webhookDelivered\(id.text)") }
  var laneKind: RecordKind { RecordKind("webhookLane\(id.text)") }

  /// Events that were delivered, by their IDs.
  func delivered() throws(StoreError) -> GroupKey {
    try GroupKey(KeySpace(deliveredKind, "delivered"), Array("all".utf8))
  }

  // MARK: Outcomes

  /// Begins anew after a success, and where nothing is left that could succeed.
  mutating func forgetFailures() { (failingSince, lastFailure) = (nil, nil) }

  mutating func noteFailure(_ reason: String?, at now: UnixTime) {
    let since = failingSince ?? now
    (failingSince, lastFailure) = (since, reason.map { String($0.prefix(Self.maxFailureCharacters)) })
    if state == .enabled, since + Self.switchOffAfter <= now { state = .failing }
  }

  mutating func enable() {
    if state == .removed { return }
    state = .enabled
    forgetFailures()
  }

  // MARK: Storing

  static func group() throws(StoreError) -> GroupKey { try GroupKey(all, Array("all".utf8)) }

  /// Those that are not being removed, and those that are.
  static func all(in set: WorkingSet) throws(StoreError) -> [Webhook] {
    try set.each(set.group(group()).records) { record throws(StoreError) in try Webhook(record) }
  }

  /// - Parameter id: from outside: it may be no ID at all.
  static func find(_ id: String, in set: WorkingSet) throws(StoreError) -> Webhook? {
    guard let id = RecordID(kind, id), let record = try set.record(id) else { return nil }
    let webhook = try Webhook(record)
    return webhook.state == .removed ? nil : webhook
  }

  func store(isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    try set.store(id, self, isNew: isNew, dueAt: nil, discardAt: nil, groupKeys: [try Self.group()])
  }

  /// - Parameter bytes: random, few enough for the names of kinds.
  static func newID(_ bytes: [UInt8]) -> RecordID? { RecordID(kind, prefix + Hexadecimal.encode(bytes)) }
  static let idBytes = 8

  func view(waiting: Int) -> WebhookView {
    var view = WebhookView(
      id: id.text, url: url, events: patterns.map(\.text), state: .init(rawValue: state.rawValue), waiting: waiting,
      createdAt: createdAt)
    (view.failingSince, view.lastFailure, view.replayingSince) = (failingSince, lastFailure, replay?.since)
    return view
  }
}

extension Webhook: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ webhook: Self?) throws(UnreadableFields) {
    id = record.id
    url = try fields.required(1, webhook?.url)
    let patterns = try fields.required(2, webhook.map { $0.patterns.map(\.text).joined(separator: " ") })
    self.patterns = patterns.split(separator: " ").compactMap { EventPattern(String($0)) }
    sealedSecret = try fields.required(3, webhook?.sealedSecret)
    createdAt = try fields.required(4, webhook?.createdAt)
    state = try fields.required(5, webhook?.state)
    failingSince = fields.optional(6, webhook?.failingSince)
    replay = try fields.optional(7, webhook?.replay)
    lastFailure = fields.optional(8, webhook?.lastFailure)
  }
}

extension Webhook.Replay: FieldCoded {
  init(_ fields: inout FieldCoder, _ replay: Self?) throws(UnreadableFields) {
    since = try fields.required(1, replay?.since)
    until = try fields.required(2, replay?.until)
    behind = try fields.required(3, replay?.behind)
  }
}
