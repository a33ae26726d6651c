import CountersignTelemetry

// Due records, the outbox, and purges.
extension MemoryState {
  // MARK: Due records

  func due(_ claim: DueClaim, at now: UnixTime) -> (records: [Record], unreadable: [Record]) {
    var due = records.values.filter { $0.id.kind == claim.kind && ($0.dueAt.map { $0 <= now } ?? false) }
    due.sort { ($0.dueAt ?? now, $0.id.text) < ($1.dueAt ?? now, $1.id.text) }
    let rows = due.prefix(claim.limit)
    return (rows.filter { !unreadable.contains($0.id) }, rows.filter { unreadable.contains($0.id) })
  }

  mutating func stepAround(_ rows: [Record], by pause: Duration, at now: UnixTime) {
    for row in rows {
      if let discardAt = row.discardAt, discardAt <= now {
        remove(row)
      } else {
        records[row.id]?.dueAt = now + pause
        for key in row.uniqueKeys where holders[key] == row.id { holders[key] = nil }
      }
    }
  }

  // MARK: Outbox

  mutating func settle(_ settlement: OutboxSettlement, by owner: Int64) {
    for number in settlement.finished where outbox[number]?.owner == owner { outbox[number] = nil }
    for (number, time) in settlement.postponed {
      postpone(number, until: min(time, UnixTime(milliseconds: .max - 1)), by: owner)
    }
    for number in settlement.setAside { postpone(number, until: Self.never, by: owner) }
  }

  private mutating func postpone(_ number: Int64, until time: UnixTime, by owner: Int64) {
    guard var row = outbox[number], row.owner == owner else { return }
    row.retryAt = time
    // Takes back the count of the claim: the message is not out.
    row.tries = max(row.tries - 1, 0)
    outbox[number] = row
  }

  mutating func claim(_ limit: Int, by owner: Int64, at now: UnixTime) -> [StoredMessage] {
    let numbers = outbox.filter { isClaimable($0.value, by: owner, at: now) }.keys.sorted().prefix(limit)
    return numbers.compactMap { take($0, by: owner) }
  }

  private func isClaimable(_ row: OutboxRow, by owner: Int64, at now: UnixTime) -> Bool {
    // A delay that is longer than any was put off before the clock was set back.
    let isDue = row.retryAt.map { $0 <= now || ($0 > StoreLimits.horizon(now) && $0 != Self.never) } ?? false
    if row.owner == owner { return isDue }
    return !owners.contains(row.owner) && (isDue || row.message.hold == nil)
  }

  mutating func release(_ commands: [InboxKey], by owner: Int64) -> [StoredMessage] {
    let held = outbox.filter { row in row.value.message.hold.map { commands.contains($0.command) } ?? false }
    return held.keys.sorted().compactMap { take($0, by: owner) }
  }

  private mutating func take(_ number: Int64, by owner: Int64) -> StoredMessage? {
    guard var row = outbox[number] else { return nil }
    // One that a dead owner had in hand counts twice, so that the count stays above 0 however often it is postponed.
    let wasInHand = row.retryAt == nil
    let mayBeOut = row.tries > 0 || wasInHand
    row.tries += wasInHand ? 2 : 1
    row.owner = owner
    row.retryAt = nil
    row.message.hold = nil
    outbox[number] = row
    return StoredMessage(number: number, message: row.message, mayBeOut: mayBeOut)
  }

  // MARK: Lists

  func counters(named prefix: [UInt8], since slot: Int64, _ limit: Int) -> [CounterSum] {
    var sums: [CounterSum] = []
    for (key, cells) in counters where key.bytes.starts(with: prefix) {
      let sum = cells.reduce(0) { $1.key >= slot ? $0 + $1.value.count : $0 }
      if sum > 0 { sums.append(CounterSum(key: key, count: sum)) }
    }
    sums.sort { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    return Array(sums.prefix(limit))
  }

  func count(_ space: KeySpace) -> Int {
    let members = groups.reduce(0) { $1.key.space == space ? $0 + $1.value.count : $0 }
    return members + holders.keys.count { $0.space == space }
  }

  // MARK: Purges

  mutating func forget(repliesContaining text: [UInt8]) -> Int {
    guard !text.isEmpty else { return 0 }
    let found = inbox.filter { entry in
      switch entry.value.state {
      case .reserved: false
      case .replied(_, let reply), .unrecorded(let reply): reply.contains(text)
      }
    }
    for key in found.keys { inbox[key] = nil }
    return found.count
  }

  mutating func purge(_ part: StorePart, _ limit: Int, at now: UnixTime) -> Int {
    switch part {
    case .inbox:
      let over = inbox.filter { $0.value.keepUntil <= now }.sorted { $0.value.keepUntil < $1.value.keepUntil }
      for (key, _) in over.prefix(limit) { inbox[key] = nil }
      return min(over.count, limit)
    case .counters: return purgeCounters(limit, at: now)
    case .records:
      let over = records.values.filter { $0.dueAt == nil && ($0.discardAt.map { $0 <= now } ?? false) }
      for record in over.prefix(limit) { remove(record) }
      return min(over.count, limit)
    }
  }

  private mutating func purgeCounters(_ limit: Int, at now: UnixTime) -> Int {
    var left = limit
    for (key, cells) in counters where left > 0 {
      let over = cells.filter { $0.value.keepUntil <= now }.keys.prefix(left)
      for slot in over { counters[key]?[slot] = nil }
      left -= over.count
      if counters[key]?.isEmpty ?? false { counters[key] = nil }
    }
    return limit - left
  }
}
