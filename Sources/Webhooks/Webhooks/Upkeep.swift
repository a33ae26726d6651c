import CommandEngine
import CountersignTelemetry

/// Ends what is over: events that waited or were kept too long, those that newer ones need the room of, removed
/// webhooks. Takes up replays, and seals secrets under the first key.
struct Upkeep: Sendable {
  /// Records of one transaction.
  private static let batch = 256
  /// Deliveries that are taken up by one transaction: each has three records.
  private static let replayBatch = 128
  /// Time by which everything that waits is due.
  private static let horizon = QueuedEvent.lifetime + .seconds(86_400)

  let store: any Store
  let parts: WebhookParts
  var maxEvents = Backlog.maxEvents

  /// A webhook of which something cannot be read does not hold up the others.
  /// - Returns: whether there may be more to do.
  func round(at now: UnixTime) async throws(StoreError) -> Bool {
    let webhooks = try await store.read(StoreKeys(), at: now) { set throws(StoreError) in
      try set.each(Webhook.all(in: set)) { webhook throws(StoreError) in
        (
          webhook, waiting: try Backlog.waiting.count(webhook, in: set),
          delivered: try Backlog.delivered.count(webhook, in: set)
        )
      }
    }
    var isMore = false
    var failure: StoreError?
    for (webhook, waiting, delivered) in webhooks {
      do throws(StoreError) {
        let isLeft =
          webhook.state == .removed
          ? try await remove(webhook, at: now) : try await tidy(webhook, waiting, delivered, at: now)
        isMore = isMore || isLeft
      } catch {
        failure = failure ?? error
        parts.logger.error("a webhook cannot be tidied", ["webhook": "\(webhook.id.text)", .error: error.description])
      }
    }
    // The others go on first.
    if let failure, !isMore { throw failure }
    return isMore
  }

  private func tidy(
    _ webhook: Webhook, _ waiting: Int, _ delivered: Int, at now: UnixTime
  ) async throws(StoreError) -> Bool {
    try await refresh(webhook, waiting, at: now)
    var isMore = false
    for (backlog, count) in [(Backlog.waiting, waiting), (.delivered, delivered)] {
      let old = try await drop(.age, backlog, of: webhook, dueBy: now, limit: Self.batch, at: now)
      let excess = min(count - old - maxEvents, Self.batch)
      isMore = isMore || old >= Self.batch || excess >= Self.batch
      guard excess > 0 else { continue }
      _ = try await drop(.full, backlog, of: webhook, dueBy: now + Self.horizon, limit: excess, at: now)
    }
    // A repetition takes the room of no event that was never delivered.
    if webhook.replay != nil, waiting <= maxEvents - Self.replayBatch {
      isMore = try await replay(webhook, at: now) || isMore
    }
    return isMore
  }

  // MARK: Dropping

  /// The oldest first.
  /// - Returns: their number.
  private func drop(
    _ reason: WebhookMetrics.Drop, _ backlog: Backlog, of webhook: Webhook, dueBy time: UnixTime, limit: Int,
    at now: UnixTime
  ) async throws(StoreError) -> Int {
    let isWaiting = backlog == .waiting
    let claim = DueClaim(isWaiting ? webhook.eventKind : webhook.deliveredKind, limit: limit)
    let outcome = try await store.sweep(claim, at: time) { records, set throws(StoreError) in
      if isWaiting { try Self.pass(records, of: webhook, at: now, in: &set) }
      for record in records { try set.remove(record.id) }
      if !records.isEmpty { try backlog.add(-records.count, webhook, in: &set) }
    }
    guard case .stored(let swept, _) = outcome else { return 0 }
    if isWaiting { parts.metrics.drop(swept.rows, reason, of: webhook) }
    return swept.rows
  }

  /// Goes on behind them in their lanes.
  /// - Parameter now: the time. That of the set may be the time by which all is due.
  private static func pass(
    _ events: [Record], of webhook: Webhook, at now: UnixTime, in set: inout WorkingSet
  ) throws(StoreError) {
    let events = events.sorted { $0.id.text < $1.id.text }
    let places = try events.map { event throws(StoreError) in try Lane.place(of: event.id, webhook) }
    var keys = StoreKeys()
    for place in places { keys.add(record: place.lane) }
    try set.require(keys)
    for place in places {
      var lane: Lane
      // One that cannot be read goes with its events.
      do throws(StoreError) {
        guard let found = try Lane.find(place.lane, in: set) else { continue }
        lane = found
      } catch {
        continue
      }
      lane.pass(place.number, at: now)
      try lane.store(as: place.lane, in: &set)
    }
  }

  // MARK: Removal

  private func remove(_ webhook: Webhook, at now: UnixTime) async throws(StoreError) -> Bool {
    let far = now + Self.horizon
    for kind in [webhook.laneKind, webhook.eventKind, webhook.deliveredKind] {
      let outcome = try await store.sweep(DueClaim(kind, limit: Self.batch), at: far) {
        records, set throws(StoreError) in
        for record in records { try set.remove(record.id) }
      }
      guard case .stored(let swept, _) = outcome, swept.rows == 0 else { return true }
    }
    // Another process may have been faster.
    _ = try await store.transact(at: now) { set throws(StoreError) in
      if try set.record(webhook.id) != nil { try set.remove(webhook.id) }
    }
    return false
  }

  // MARK: The webhook itself

  /// Seals its secret under the first key. Forgets failures of events that were all dropped: without any to deliver,
  /// days that pass say nothing of its server.
  private func refresh(_ webhook: Webhook, _ waiting: Int, at now: UnixTime) async throws(StoreError) {
    let sealed = parts.secrets.sealAnew(webhook.sealedSecret, of: webhook.id.text)
    let isIdle = webhook.state == .enabled && waiting == 0 && webhook.failingSince != nil
    guard sealed != nil || isIdle else { return }
    _ = try await store.transact(at: now) { set throws(StoreError) in
      guard let record = try set.record(webhook.id) else { return }
      var webhook = try Webhook(record)
      if let sealed { webhook.sealedSecret = sealed }
      if isIdle { webhook.forgetFailures() }
      try webhook.store(in: &set)
    }
  }

  // MARK: Replay

  private func replay(_ webhook: Webhook, at now: UnixTime) async throws(StoreError) -> Bool {
    let outcome = try await store.transact(at: now) { set throws(StoreError) in try Self.replay(webhook.id, in: &set) }
    parts.wakes.wake(webhook.id.text)
    guard case .stored(let isMore, _) = outcome else { return true }
    return isMore
  }

  private static func replay(_ id: RecordID, in set: inout WorkingSet) throws(StoreError) -> Bool {
    guard let record = try set.record(id) else { return false }
    var webhook = try Webhook(record)
    guard var replay = webhook.replay, webhook.state != .removed else { return false }
    let page = StoreKeys.GroupPage(behind: replay.behind, limit: replayBatch)
    let (records, isComplete) = try set.group(webhook.delivered(), page)
    var keys = StoreKeys()
    for record in records { keys.add(record: try Lane.place(of: record.id, webhook).lane) }
    try set.require(keys)
    for record in records { try again(record, webhook, replay, in: &set) }
    replay.behind = records.last?.id.text ?? replay.behind
    webhook.replay = isComplete ? nil : replay
    try webhook.store(in: &set)
    return !isComplete
  }

  /// Puts a delivered event behind what waits.
  private static func again(
    _ record: Record, _ webhook: Webhook, _ replay: Webhook.Replay, in set: inout WorkingSet
  ) throws(StoreError) {
    var event = try QueuedEvent(record)
    guard let deliveredAt = event.deliveredAt, deliveredAt >= replay.since, deliveredAt < replay.until else { return }
    let lane = try Lane.place(of: record.id, webhook).lane
    var place = try Lane.find(lane, in: set) ?? Lane()
    let number = place.append(at: set.now)
    try set.remove(record.id)
    try Backlog.delivered.add(-1, webhook, in: &set)
    (event.queuedAt, event.deliveredAt) = (set.now, nil)
    try event.store(number, in: lane, of: webhook, in: &set)
    try place.store(as: lane, in: &set)
    try Backlog.waiting.add(1, webhook, in: &set)
  }
}
