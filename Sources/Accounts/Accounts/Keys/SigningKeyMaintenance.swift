import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Synchronization

/// Makes signing keys in time, seals them again under a new token key, announces them, and takes old ones away.
///
/// Any number of processes do so at once: each key has a place that one record holds.
struct SigningKeyMaintenance: Sendable {
  let keys: SigningKeys
  let metrics: SigningKeyMetrics
  /// Keys of the other purpose, which are announced with these.
  let others: SigningKeys?
  let logger: Logger
  private let noted = NotedProblems()
  private let sealedAt = SealTimes()

  init(_ keys: SigningKeys, _ registry: MetricsRegistry, _ logger: Logger, beside others: SigningKeys? = nil) {
    self.keys = keys
    self.others = others
    metrics = SigningKeyMetrics(registry, keys.purpose)
    self.logger = logger
  }

  /// - Parameter makesFirst: whether the first key is made, unless there is one.
  func run(_ store: any Store, at now: UnixTime, makesFirst: Bool = true) async throws(StoreError) {
    var reading = try await read(store, at: now)
    if makesFirst || !reading.entries.isEmpty, let next = Self.next(reading, keys.rules, at: now) {
      try await add(next, behind: reading, store, at: now)
      // Also when another process was faster.
      reading = try await read(store, at: now)
    }
    if isOutdated(reading), sealedAt.isDue(at: now) {
      try await sealAgain(store, at: now)
      reading = try await read(store, at: now)
    }
    note(reading, at: now)
  }

  private func read(_ store: any Store, at now: UnixTime) async throws(StoreError) -> SigningKeys.Reading {
    let records = try await store.read(StoreKeys(), at: now) { set throws(StoreError) in
      try set.group(keys.purpose.group).records
    }
    let reading = keys.read(records)
    keys.take(reading)
    return reading
  }

  // MARK: Next key

  struct Plan: Sendable, Equatable {
    var number: Int
    var signsFrom: UnixTime
  }

  /// The first signs at once, because no verifier has cached its absence. Where keys are stored that cannot be opened,
  /// and no others, the ring of token keys is the wrong one, and a new key would void all ID tokens.
  static func next(_ reading: SigningKeys.Reading, _ rules: SigningKeyRules, at now: UnixTime) -> Plan? {
    guard let last = reading.entries.last else {
      return reading.unreadable.isEmpty ? Plan(number: 1, signsFrom: now) : nil
    }
    guard last.record.signsFrom + rules.rotatedAfter <= now + rules.lead else { return nil }
    return Plan(number: last.number + 1, signsFrom: now + rules.lead)
  }

  /// Makes a key, unless another process was faster.
  private func add(
    _ plan: Plan, behind reading: SigningKeys.Reading, _ store: any Store, at now: UnixTime
  ) async throws(StoreError) {
    let made: SigningKeyRecord
    do throws(SigningKeyProblem) {
      made = try SigningKeyRecord.make(
        keys.purpose, number: plan.number, publishedAt: now, signsFrom: plan.signsFrom, sealedUnder: keys.ring,
        by: keys.generate)
    } catch {
      logger.error("a signing key cannot be made", [.error: error.message])
      return
    }
    // A row that cannot be opened may have the next places; the order of the keys is what counts.
    for step in 0..<Self.maxSteps {
      let placed: SigningKeyRecord
      do throws(SigningKeyProblem) {
        placed = try made.placed(at: plan.number + step, signsFrom: plan.signsFrom, sealedUnder: keys.ring)
      } catch {
        logger.error("a signing key cannot be made", [.error: error.message])
        return
      }
      switch try await place(placed, behind: reading.entries.last?.record.id, store, at: now) {
      case .stored:
        logger.info("a signing key was made", ["key": made.id.text, "signsFrom": made.signsFrom.rfc3339])
        return
      case .late: return
      case .taken: continue
      }
    }
    logger.error(
      "no place is free for a signing key",
      [.hint: "delete the records of the kind signingKey that cannot be opened: readiness and log name them"])
  }

  /// Places behind the last key that are tried.
  private static let maxSteps = 8

  private enum Placing: Sendable {
    case stored
    case late
    case taken
  }

  private func place(
    _ made: SigningKeyRecord, behind last: RecordID?, _ store: any Store, at now: UnixTime
  ) async throws(StoreError) -> Placing {
    do throws(StoreError) {
      let outcome = try await store.transact(at: now) { [keys] set throws(StoreError) in
        let records = try set.group(keys.purpose.group).records
        let current = keys.read(records)
        guard current.entries.last?.record.id == last, !current.isLost else { return Placing.late }
        try made.store(isNew: true, dueAt: now, in: &set)
        if var former = records.first(where: { $0.id == last }) {
          former.dueAt = made.signsFrom + keys.purpose.afterlife
          try set.put(former)
        }
        return .stored
      }
      if case .stored(let placing, _) = outcome { return placing }
      return .taken
    } catch {
      guard error.code == .taken else { throw error }
      return .taken
    }
  }

  // MARK: Seals

  private func isOutdated(_ reading: SigningKeys.Reading) -> Bool {
    reading.entries.contains { $0.record.sealedUnder != keys.ring.sealing?.id }
  }

  /// Seals all keys under the first key of the ring, so that the others can be taken out.
  private func sealAgain(_ store: any Store, at now: UnixTime) async throws(StoreError) {
    let outcome = try await store.transact(at: now) { [keys] set throws(StoreError) in
      let records = try set.group(keys.purpose.group).records
      var names: [String] = []
      // A key that cannot be sealed again stays readable under its earlier key, and the next round tries again.
      for entry in keys.read(records).entries where entry.record.sealedUnder != keys.ring.sealing?.id {
        guard let record = records.first(where: { $0.id == entry.record.id }),
          let again = try? entry.record.sealedAgain(under: keys.ring)
        else { continue }
        try again.store(dueAt: record.dueAt, in: &set)
        names.append(entry.id)
      }
      return names
    }
    guard case .stored(let names, _) = outcome, !names.isEmpty else { return }
    logger.info(
      "signing keys were sealed again under the first token key",
      ["keys": names.joined(separator: ","), "tokenKey": keys.ring.sealing?.id ?? ""])
  }

  // MARK: Announcement and end

  /// Announces a key that is new, or takes one away whose tokens have expired.
  func end(_ due: Record, in set: inout WorkingSet) throws(StoreError) {
    let readings = try set.each([keys] + [others].compactMap(\.self)) { keys throws(StoreError) in
      keys.read(try set.group(keys.purpose.group).records).entries
    }
    var entries = readings[0]
    // One that cannot be opened is put off.
    guard let index = entries.firstIndex(where: { $0.record.id == due.id }) else { return }
    let entry = entries[index]
    let retirement = keys.retirement(index, of: entries)
    let isOver = retirement.map { $0 <= set.now } ?? false
    if isOver {
      try set.remove(due.id)
      entries.remove(at: index)
    } else {
      // Its text stays: another process may have sealed it under a token key that this one does not have yet.
      var record = due
      record.dueAt = retirement
      try set.put(record)
    }
    let event = published(entries, beside: readings.dropFirst().first, at: set.now)
    let change = isOver ? "retired" : "published"
    try set.send(
      .event(event, id: "\(entry.id).\(change)", correlationID: entry.id, cause: nil, at: set.now))
    set.afterCommit { [logger] in
      logger.info("the published signing keys have changed", ["key": entry.id, "change": change])
    }
  }

  private func published(
    _ entries: [SigningKeys.Entry], beside further: [SigningKeys.Entry]?, at now: UnixTime
  ) -> KeysPublished {
    guard let others, let further else { return keys.published(entries, at: now) }
    return keys.purpose == .cookies
      ? others.published(further, cookies: keys.published(entries, at: now), at: now)
      : keys.published(entries, cookies: others.published(further, at: now), at: now)
  }

  // MARK: Report

  private func note(_ reading: SigningKeys.Reading, at now: UnixTime) {
    metrics.set(reading, signing: keys.signing(at: now).flatMap { key in keys.start(of: key.id) }, at: now)
    for (id, problem) in noted.new(reading.unreadable) {
      logger.error(
        "a signing key in the database cannot be opened, and is not used",
        ["key": id, .error: problem, .hint: SigningKeys.hint])
    }
  }
}

/// While several processes have their token keys in different orders, each prefers another one.
private final class SealTimes: Sendable {
  private static let interval = Duration.seconds(60)
  private let last = Mutex<UnixTime?>(nil)

  func isDue(at now: UnixTime) -> Bool {
    last.withLock { last in
      if let last, now >= last, now - last < Self.interval { return false }
      last = now
      return true
    }
  }
}

private final class NotedProblems: Sendable {
  private let known = Mutex<[String: String]>([:])

  func new(_ problems: [(id: String, problem: String)]) -> [(id: String, problem: String)] {
    known.withLock { known in
      defer { known = Dictionary(problems.map { ($0.id, $0.problem) }, uniquingKeysWith: { first, _ in first }) }
      return problems.filter { known[$0.id] != $0.problem }
    }
  }
}
