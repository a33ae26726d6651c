import CountersignTelemetry
import PostgreSQL

/// Entries of a batch, at most one a job, which are carried out together.
///
/// New jobs and ends cost one run of statements, known jobs a second, takeovers a third. Each run is a transaction of
/// its own, so that no lock is held while this side decides.
struct LedgerRound: Sendable {
  /// Part of a round that ``LedgerSQL`` has a statement for.
  private enum Step {
    case forget, settle, release, makeIdle, insertClaims
  }

  private struct Item {
    let place: Int
    let entry: LedgerEntry
    let key: [UInt8]
    /// Answer of a change that was sent. When its confirmation was lost and the claim is found, it was made.
    var attempted: ClaimAnswer?
  }

  /// Answers by the place of their entries in the batch.
  private(set) var answers: [Int: Result<LedgerAnswer, LedgerError>] = [:]
  /// Entries without an answer, in the order of their keys: two batches that meet wait for each other in one direction.
  private var open: [Item] = []
  /// Abandoned claims that still have to be deleted. A row that knows of an earlier call stays as it is:
  /// who finds it after its lease has to look that call up.
  private var forgotten = LedgerColumns()
  /// The server's time in the last run, when it told it.
  private(set) var serverTime: UnixTime?

  /// Splits a batch, so that no round has two entries of one job, and each sees the changes of those before it.
  static func rounds(of entries: [LedgerEntry], forgetting claims: [LedgerClaim] = []) -> [LedgerRound] {
    var rounds: [LedgerRound] = []
    if !claims.isEmpty {
      var round = LedgerRound()
      let keyed = claims.map { (claim: $0, key: Array($0.key.utf8)) }
      for (claim, key) in keyed.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        round.forgotten.add(claim, key: key)
      }
      rounds.append(round)
    }
    var counts: [[UInt8]: Int] = [:]
    for (place, entry) in entries.enumerated() {
      let key = Array(entry.claim.key.utf8)
      let round = counts[key, default: 0]
      counts[key] = round + 1
      if round == rounds.count { rounds.append(LedgerRound()) }
      if let problem = LedgerColumns.problem(entry, key: key) {
        rounds[round].answers[place] = .failure(problem)
      } else {
        rounds[round].open.append(Item(place: place, entry: entry, key: key))
      }
    }
    for round in rounds.indices { rounds[round].open.sort { $0.key.lexicographicallyPrecedes($1.key) } }
    return rounds
  }

  /// Whether every entry has its answer, and nothing is to be forgotten.
  var isDone: Bool { open.isEmpty && hasForgotten }

  /// Whether no claim is left that is to be forgotten.
  var hasForgotten: Bool { forgotten.isEmpty }

  /// Gives up the entries without an answer.
  mutating func fail(_ error: LedgerError) {
    for item in open { answers[item.place] = .failure(error) }
    open.removeAll()
  }

  private mutating func answer(_ answer: (Item) throws(PostgreSQLError) -> LedgerAnswer?) {
    let items = open
    open.removeAll(keepingCapacity: true)
    for item in items {
      do throws(PostgreSQLError) {
        if let answer = try answer(item) { answers[item.place] = .success(answer) } else { open.append(item) }
      } catch {
        answers[item.place] = .failure(LedgerError(error))
      }
    }
  }
}

// MARK: - The first run

extension LedgerRound {
  /// Carries out what can be carried out without knowing the jobs.
  mutating func write(
    _ sql: LedgerSQL, run: ([PostgreSQLStatement]) throws(PostgreSQLError) -> [PostgreSQLRows]
  ) throws(PostgreSQLError) {
    for place in open.indices where open[place].attempted == nil {
      guard case .claim(let claim) = open[place].entry else { continue }
      open[place].attempted = Self.answer(toNew: claim)
    }
    let steps = steps(sql)
    let results = try run(steps.map(\.statement))
    forgotten = LedgerColumns()
    for (step, rows) in zip(steps, results) {
      switch step.name {
      case .settle:
        let keys = try Self.keys(rows)
        answer { item in
          guard case .settle = item.entry, keys.contains(item.key) else { return nil }
          return .settled(standing: nil)
        }
      case .insertClaims:
        if let row = rows.first { serverTime = UnixTime(milliseconds: Int64(try row.int(1))) }
        let keys = try Self.keys(rows)
        answer { item in
          guard case .claim(let claim) = item.entry, keys.contains(item.key) else { return nil }
          return .claim(Self.answer(toNew: claim))
        }
      case .forget, .release, .makeIdle: break
      }
    }
    answer { item in
      switch item.entry {
      case .release, .postpone: .done
      case .claim, .settle: nil
      }
    }
  }

  private static func answer(toNew claim: LedgerClaim) -> ClaimAnswer {
    let calls = claim.redeliveries
    return calls > 0 ? .abandoned(lane: nil, unknownCalls: calls) : .claimed(unknownCalls: 0)
  }

  private func steps(_ sql: LedgerSQL) -> [(name: Step, statement: PostgreSQLStatement)] {
    var columns: (settle: LedgerColumns, release: LedgerColumns, idle: LedgerColumns, claim: LedgerColumns)
    columns = (LedgerColumns(), LedgerColumns(), LedgerColumns(), LedgerColumns())
    for item in open {
      switch item.entry {
      case .settle(let claim, let result, let time): columns.settle.add(claim, result, at: time, key: item.key)
      case .release(let claim):
        columns.release.add(claim, key: item.key)
        columns.idle.add(claim, key: item.key, calls: 0)
      case .postpone(let claim): columns.idle.add(claim, key: item.key, calls: 1)
      case .claim(let claim): columns.claim.add(claim, key: item.key, calls: claim.redeliveries)
      }
    }
    let all = [
      (Step.forget, PostgreSQLStatement(sql.forgetReleased, forgotten.forReleasing), forgotten),
      (.settle, PostgreSQLStatement(sql.settle, columns.settle.forSettling), columns.settle),
      (.release, PostgreSQLStatement(sql.forgetReleased, columns.release.forReleasing), columns.release),
      (.makeIdle, PostgreSQLStatement(sql.makeIdle, columns.idle.forMakingIdle), columns.idle),
      (.insertClaims, PostgreSQLStatement(sql.insertClaims, columns.claim.forClaiming), columns.claim),
    ]
    return all.filter { !$0.2.isEmpty }.map { ($0.0, $0.1) }
  }

  private static func keys(_ rows: PostgreSQLRows) throws(PostgreSQLError) -> Set<[UInt8]> {
    var keys = Set<[UInt8]>(minimumCapacity: rows.count)
    for row in rows { keys.insert(try row.bytes(0)) }
    return keys
  }
}

// MARK: - Known jobs

extension LedgerRound {
  /// A job whose row a claim changes, and the row as it was read.
  private typealias Change = (item: Item, row: LedgerRow, calls: Int, answer: ClaimAnswer)

  /// Reads the jobs that the first run could not change, and takes over those that may be.
  mutating func resolve(
    _ sql: LedgerSQL, run: ([PostgreSQLStatement]) throws(PostgreSQLError) -> [PostgreSQLRows],
    judge: (UnixTime) -> UnixTime
  ) throws(PostgreSQLError) {
    let read = try run([PostgreSQLStatement(sql.rows, [.byteArrays(open.map(\.key))])])
    guard let rows = read.first else { return }
    var known: [[UInt8]: PostgreSQLRow] = [:]
    for row in rows { known[try row.bytes(0)] = row }
    guard let first = rows.first else { return }
    let now = UnixTime(milliseconds: Int64(try first.int(8)))
    serverTime = now
    let judgedAt = judge(now)
    var (takeOvers, shortened): ([Change], [Change]) = ([], [])
    answer { item throws(PostgreSQLError) in
      guard let row = try known[item.key].map(LedgerColumns.row) else { return nil }
      switch item.entry {
      case .release, .postpone: return .done
      case .settle(_, let result, _):
        guard row.state == .settled else { return nil }
        return .settled(standing: row.result == result ? nil : row.result)
      case .claim(let claim):
        // A step is known from the server's clock; the difference of this host's clock must not look like one.
        switch row.consequence(ofClaim: claim.token, now: now, judgedAt: judgedAt) {
        case .answer(.claimed) where row.state == .open:
          return .claim(item.attempted ?? .claimed(unknownCalls: row.unknownCalls))
        case .answer(.held(let until)): return .claim(.held(until: claim.times.judgedAt + (until - judgedAt)))
        case .answer(let answer): return .claim(answer)
        case .shorten(let until):
          shortened.append((item, row, 0, .held(until: claim.times.judgedAt + (until - now))))
          return nil
        case .takeOver(let calls, let answer):
          takeOvers.append((item, row, calls, answer))
          return nil
        }
      }
    }
    try change(takeOvers, shortened, sql, run)
  }

  private mutating func change(
    _ takeOvers: [Change], _ shortened: [Change], _ sql: LedgerSQL,
    _ run: ([PostgreSQLStatement]) throws(PostgreSQLError) -> [PostgreSQLRows]
  ) throws(PostgreSQLError) {
    if takeOvers.isEmpty && shortened.isEmpty { return }
    let answers = Dictionary(
      (takeOvers + shortened).map { ($0.item.place, $0.answer) }, uniquingKeysWith: { first, _ in first })
    let places = Set(takeOvers.map(\.item.place))
    for place in open.indices where places.contains(open[place].place) {
      open[place].attempted = answers[open[place].place]
    }
    var columns = (takeOver: LedgerColumns(), shorten: LedgerColumns())
    for change in takeOvers {
      guard case .claim(let claim) = change.item.entry else { continue }
      columns.takeOver.add(claim, key: change.item.key, calls: change.calls, seen: change.row)
    }
    for change in shortened { columns.shorten.add(change.item.entry.claim, key: change.item.key, seen: change.row) }
    let results = try run([
      PostgreSQLStatement(sql.takeOver, columns.takeOver.forTakingOver),
      PostgreSQLStatement(sql.shorten, columns.shorten.forShortening),
    ])
    var changed = Set(shortened.map(\.item.key))
    if let rows = results.first { changed.formUnion(try Self.keys(rows)) }
    answer { item in
      guard changed.contains(item.key), let answer = answers[item.place] else { return nil }
      return .claim(answer)
    }
  }
}
