import CountersignTelemetry
import PostgreSQL

/// Entries of a batch as statements of one run, which is one transaction and costs one round trip.
///
/// Every entry is safe to repeat: a claim is recognized by its token, and a job's row has the answer to it. So a batch
/// whose answer was lost is sent again as it is.
struct LedgerBatch: Sendable {
  typealias Answers = [Result<LedgerAnswer, StoreError>]

  private struct Item: Sendable {
    let place: Int
    let entry: LedgerEntry
    let key: [UInt8]
  }

  private enum Kind: CaseIterable, Sendable {
    case settle, forget, makeIdle, claim

    func concerns(_ entry: LedgerEntry) -> Bool {
      switch (self, entry) {
      case (.settle, .settle), (.forget, .release), (.forget, .forget), (.makeIdle, .release), (.makeIdle, .postpone),
        (.claim, .claim):
        true
      case (.settle, _), (.forget, _), (.makeIdle, _), (.claim, _): false
      }
    }
  }

  /// One statement and its entries, in the order of their keys.
  private struct Step: Sendable {
    let kind: Kind
    let items: [Item]
  }

  private var steps: [Step] = []
  private var answers: Answers

  /// No statement has two entries of one job, and each sees the changes of those before it.
  init(_ entries: [LedgerEntry]) {
    answers = entries.map { entry in
      switch entry {
      case .release, .postpone, .forget: .success(.done)
      case .claim, .settle: .failure(StoreError(.unavailable, "an entry has no answer"))
      }
    }
    var groups: [[Item]] = []
    var counts: [[UInt8]: Int] = [:]
    for (place, entry) in entries.enumerated() {
      let key = Array(entry.claim.key.utf8)
      if let problem = LedgerColumns.problem(entry, key: key) {
        answers[place] = .failure(problem)
        continue
      }
      let earlier = counts[key, default: 0]
      counts[key] = earlier + 1
      if earlier == groups.count { groups.append([]) }
      groups[earlier].append(Item(place: place, entry: entry, key: key))
    }
    for group in groups {
      let sorted = group.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      for kind in Kind.allCases {
        let items = sorted.filter { kind.concerns($0.entry) }
        if !items.isEmpty { steps.append(Step(kind: kind, items: items)) }
      }
    }
  }

  /// Locks the jobs of several statements in the order of their keys, so that two batches that meet wait for each other
  /// in one direction. One statement does so by itself.
  private var locks: [PostgreSQLStatement] {
    guard steps.count > 1 else { return [] }
    let keys = Set(steps.flatMap(\.items).map(\.key))
    return [PostgreSQLStatement(LedgerSQL.lock, [.byteArrays(Array(keys))])]
  }

  func statements(_ sql: LedgerSQL, latest: UnixTime?) -> [PostgreSQLStatement] {
    locks
      + steps.map { step -> PostgreSQLStatement in
        var columns = LedgerColumns()
        for item in step.items { columns.add(item.entry, key: item.key) }
        switch step.kind {
        case .settle: return PostgreSQLStatement(sql.settle, columns.forSettling)
        case .forget: return PostgreSQLStatement(LedgerSQL.forget, columns.forForgetting)
        case .makeIdle: return PostgreSQLStatement(LedgerSQL.makeIdle, columns.forMakingIdle)
        case .claim:
          return PostgreSQLStatement(sql.claim, columns.forClaiming + [.integer(latest?.milliseconds ?? .max)])
        }
      }
  }

  /// A row that cannot be read fails its own entry only.
  func read(
    _ results: [PostgreSQLRows], latest: UnixTime?
  ) throws(StoreError) -> (answers: Answers, serverTime: UnixTime?) {
    var (answers, serverTime) = (self.answers, UnixTime?.none)
    for (step, rows) in zip(steps, results.suffix(steps.count)) {
      var items: [[UInt8]: Item] = [:]
      for item in step.items { items[item.key] = item }
      for row in rows {
        let key = try row.bytes(0)
        guard let item = items[key] else { continue }
        do throws(StoreError) {
          if step.kind == .claim { serverTime = UnixTime(milliseconds: Int64(try row.int(7))) }
          answers[item.place] = .success(try Self.answer(item.entry, row, now: serverTime, latest: latest))
        } catch {
          answers[item.place] = .failure(error)
        }
      }
    }
    return (answers, serverTime)
  }

  /// Every entry failed for one reason, unless it has one of its own.
  func failed(_ error: StoreError) -> Answers {
    var answers = self.answers
    for item in steps.flatMap(\.items) { answers[item.place] = .failure(error) }
    return answers
  }

  private static func answer(
    _ entry: LedgerEntry, _ row: PostgreSQLRow, now: UnixTime?, latest: UnixTime?
  ) throws(StoreError) -> LedgerAnswer {
    switch entry {
    case .release, .postpone, .forget: return .done
    case .settle(_, let result, _):
      let standing = try row.optionalBytes(1)
      return .settled(standing: standing == result ? nil : standing)
    case .claim(let claim): return .claim(try answer(claim, row, judgedAt: [now, latest].compactMap(\.self).min()))
    }
  }

  private static func answer(
    _ claim: LedgerClaim, _ row: PostgreSQLRow, judgedAt: UnixTime?
  ) throws(StoreError) -> ClaimAnswer {
    let (token, calls) = (Int64(try row.int(3)), try row.int(5))
    switch LedgerState(rawValue: Int64(try row.int(2))) {
    case .settled: return .settled(result: try row.optionalBytes(1) ?? [])
    case .open where token == claim.token:
      guard let lane = try row.optionalText(6) else { return .claimed(unknownCalls: calls) }
      return .abandoned(lane: lane.isEmpty ? nil : lane, unknownCalls: calls)
    case .open:
      let until = UnixTime(milliseconds: Int64(try row.int(4)))
      // In the claimant's own time.
      return .held(until: claim.times.judgedAt + (until - (judgedAt ?? until)))
    case .idle, nil:
      throw StoreError(.unexpectedResult, "the ledger has a row in a state that it does not know")
    }
  }
}
