import CommandEngine
import CountersignTelemetry

/// Carries a database of schema version 4 to 13 into the store, before anything is consumed.
///
/// SQL cannot do it: the keys of records and counters are hashes. It may end anywhere, and goes on at the next start; see
/// ``EarlierTables``. What cannot be read is left in its table for a version that can, and told at each start; once it is
/// over, it is deleted as it would have been.
struct CarryOver: Sendable {
  private let rules: CoordinatorRules
  private let conversions: Conversions
  private let logger: Logger
  private let metrics: EngineMetrics

  init(_ rules: CoordinatorRules, _ conversions: Conversions, _ logger: Logger, _ metrics: EngineMetrics) {
    self.rules = rules
    self.conversions = conversions
    self.logger = logger
    self.metrics = metrics
  }

  static func messages(in left: [String: Int]) -> Int {
    [OutboxTable().table, HeldJobTable().table].reduce(0) { $0 + (left[$1] ?? 0) }
  }

  /// Rows between two lines of the log.
  static let rowsPerNote = 8_192

  @discardableResult
  func run(_ store: SQLiteStore, clock: any WallClock) async throws(StoreError) -> [String: Int] {
    let earlier = EarlierTables(beside: store)
    let tables = try await tables(earlier)
    let existing = try await earlier.existing(among: tables.map(\.table))
    var left: [String: Int] = [:]
    for table in tables where existing.contains(table.table) {
      let failures = try await carry(table, earlier, clock)
      if !failures.isEmpty {
        left[table.table] = failures.count
        note(failures, in: table.table)
      }
      try await earlier.dropEmpty(table)
    }
    return left
  }

  /// The tables in their order: outages and blocks decide which verifications count.
  func tables(_ earlier: EarlierTables) async throws(StoreError) -> [any EarlierCarrier] {
    let last = try await earlier.rows(of: InboxTable.lastWithoutSender).first
    let retention = rules.retention
    return [
      OutageTable(records: conversions.records), BlockTable(records: conversions.records), UsageTable(),
      InboxTable(retention: rules.inboxRetention, lastNumber: try last?.int("last_number") ?? 0),
      AppProofTable(records: AppProofRecords(rules), retention: retention), RefusedTokenTable(),
      AssessmentTable(records: AssessmentRecords(rules), retention: retention),
      RevocationTable(records: RevocationRecords(rules.revocation), retention: rules.revocation.retention),
      VerificationTable(
        records: VerificationRecords(rules, conversions: conversions), conversions: conversions, retention: retention),
      HeldJobTable(), OutboxTable(),
    ]
  }

  private func carry(
    _ table: some EarlierCarrier, _ earlier: EarlierTables, _ clock: any WallClock
  ) async throws(StoreError) -> [StoreError] {
    var page: EarlierPage?
    var carried = 0
    var failures: [StoreError] = []
    while page?.isLast != true {
      let next = try await earlier.carryPage(table, behind: page?.place, at: clock.now())
      let isNoted = (carried + next.carried) / Self.rowsPerNote > carried / Self.rowsPerNote
      carried += next.carried
      failures += next.failures
      page = next
      if isNoted { note(carried, of: table.table) }
    }
    if carried > 0 { note(carried, of: table.table) }
    return failures
  }

  private func note(_ carried: Int, of table: String) {
    logger.info("rows of an earlier version are carried into the store", ["table": "\(table)", .count: carried])
  }

  private func note(_ failures: [StoreError], in table: String) {
    metrics.countLeft(failures.count, in: table)
    logger.error(
      "rows of an earlier version cannot be carried into the store, and are left where they are",
      [
        "table": "\(table)", .count: failures.count, .error: failures.first?.description ?? "",
        .hint: "another version of the program may read them; they are tried again at each start",
      ])
  }
}
