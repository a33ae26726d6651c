import CommandEngine
import CountersignTelemetry

/// Transactions of deliveries: claims of many events, and outcomes of many.
struct DeliveryStore: Sendable {
  /// Events of one claim, so that other transactions are not kept waiting.
  static let maxClaimed = 128

  let store: any Store
  /// A new name for a claim.
  let newClaim: @Sendable () -> String

  /// Webhooks that are not being removed.
  func webhooks(at now: UnixTime) async throws(StoreError) -> [Webhook] {
    try await store.read(StoreKeys(), at: now) { set throws(StoreError) in
      try Webhook.all(in: set).filter { $0.state != .removed }
    }
  }

  // MARK: Claims

  /// Claims the first events of lanes that are due.
  /// - Returns: the events, and whether there may be more.
  func claim(
    _ webhook: Webhook, limit: Int, at now: UnixTime
  ) async throws(StoreError) -> (attempts: [Attempt], isMore: Bool) {
    let limit = min(limit, Self.maxClaimed)
    let name = newClaim()
    let claim = DueClaim(webhook.laneKind, limit: limit, pause: Lane.claimTime)
    let outcome = try await store.sweep(claim, at: now) { records, set throws(StoreError) in
      try Self.claim(records, of: webhook.id, as: name, in: &set)
    }
    guard case .stored(let swept, _) = outcome else { return ([], true) }
    return (swept.result, swept.rows >= limit)
  }

  private static func claim(
    _ records: [Record], of webhook: RecordID, as name: String, in set: inout WorkingSet
  ) throws(StoreError) -> [Attempt] {
    guard !records.isEmpty, let stored = try set.record(webhook) else { return [] }
    let webhook = try Webhook(stored)
    guard webhook.state == .enabled else { return [] }
    var lanes: [(id: RecordID, lane: Lane, event: RecordID)] = []
    var keys = StoreKeys()
    for record in records {
      let lane: Lane
      // One that cannot be read holds up no other.
      do throws(StoreError) { lane = try Lane(record) } catch { continue }
      lanes.append((record.id, lane, try Lane.eventID(record.id, lane.head, webhook.eventKind)))
    }
    for lane in lanes { keys.add(record: lane.event) }
    try set.require(keys)
    var attempts: [Attempt] = []
    for (id, lane, event) in lanes {
      var lane = lane
      let queued: QueuedEvent?
      do throws(StoreError) { queued = try set.record(event).map(QueuedEvent.init) } catch { continue }
      if let queued {
        let number = lane.take(as: name, at: set.now)
        attempts.append(
          Attempt(webhook: webhook, lane: id, number: number, claim: name, claimedAt: set.now, event: queued))
      } else {
        // It was dropped.
        lane.pass(lane.head, at: set.now)
      }
      try lane.store(as: id, in: &set)
    }
    return attempts
  }

  // MARK: Outcomes

  /// Stores outcomes. Those whose claim is over change nothing.
  /// - Returns: webhooks that were switched off. `nil` if nothing was stored: the same may succeed later.
  func settle(_ ended: [Ended], at now: UnixTime) async throws(StoreError) -> [Webhook]? {
    let outcome = try await store.transact(at: now) { set throws(StoreError) in try Self.settle(ended, in: &set) }
    if case .stored(let switchedOff, _) = outcome { return switchedOff }
    return nil
  }

  private static func settle(_ ended: [Ended], in set: inout WorkingSet) throws(StoreError) -> [Webhook] {
    var keys = StoreKeys()
    for attempt in ended.map(\.attempt) {
      keys.add(record: attempt.webhook.id)
      keys.add(record: attempt.lane)
      keys.add(record: try Lane.eventID(attempt.lane, attempt.number, attempt.webhook.eventKind))
    }
    try set.require(keys)
    var switchedOff: [Webhook] = []
    for ended in ended {
      guard let record = try set.record(ended.attempt.webhook.id) else { continue }
      let known = try Webhook(record)
      var webhook = known
      note(ended.outcome, of: &webhook, at: set.now)
      if webhook != known { try webhook.store(in: &set) }
      if known.state == .enabled, webhook.state != .enabled { switchedOff.append(webhook) }
      try settle(ended, in: &set)
    }
    return switchedOff
  }

  /// Also an outcome that comes too late for its event tells of the server.
  private static func note(_ outcome: Outcome, of webhook: inout Webhook, at now: UnixTime) {
    switch outcome {
    case .delivered: webhook.forgetFailures()
    case .skipped: break
    case .gone:
      webhook.noteFailure(outcome.failure, at: now)
      if webhook.state == .enabled { webhook.state = .gone }
    case .refused, .unreachable, .forbidden: webhook.noteFailure(outcome.failure, at: now)
    }
  }

  private static func settle(_ ended: Ended, in set: inout WorkingSet) throws(StoreError) {
    let attempt = ended.attempt
    guard var lane = try Lane.find(attempt.lane, in: set), lane.isHeld(by: attempt.claim, attempt.number) else {
      return
    }
    switch ended.outcome {
    case .delivered:
      lane.pass(attempt.number, at: set.now)
      try keep(attempt, in: &set)
    case .gone: lane.release(at: set.now)
    case .skipped: lane.release(at: set.now + Lane.pause)
    case .refused, .unreachable, .forbidden: lane.fail(at: set.now)
    }
    try lane.store(as: attempt.lane, in: &set)
  }

  /// Keeps a delivered event for a replay.
  private static func keep(_ attempt: Attempt, in set: inout WorkingSet) throws(StoreError) {
    let webhook = attempt.webhook
    let id = try Lane.eventID(attempt.lane, attempt.number, webhook.eventKind)
    guard try set.record(id) != nil else { return }
    try set.remove(id)
    try Backlog.waiting.add(-1, webhook, in: &set)
    var event = attempt.event
    event.deliveredAt = set.now
    try event.store(attempt.number, in: attempt.lane, of: webhook, in: &set)
    try Backlog.delivered.add(1, webhook, in: &set)
  }
}
