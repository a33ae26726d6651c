public import CountersignTelemetry

/// Rows of a store, by the parts that are copied.
public struct StoreCounts: Sendable, Hashable {
  /// Records.
  public var records = 0
  /// Unique keys that records hold, and memberships of groups.
  public var keys = 0
  /// Entries of the inbox.
  public var inbox = 0
  /// Cells of counters.
  public var cells = 0
  /// Sum of all cells.
  public var events: Int64 = 0
  /// Messages of the outbox.
  public var messages = 0

  public init() {}

  /// Rows of all parts, without keys.
  public var rows: Int { records + inbox + cells + messages }

  /// Whether there is nothing.
  public var isEmpty: Bool { rows == 0 && keys == 0 }
}

/// Part of a store that is copied by itself.
public enum StoreCopyPart: String, Sendable, CaseIterable {
  case records, inbox, counters, outbox
}

/// Consecutive rows of a part.
public struct StorePage: Sendable {
  /// A cell of a counter.
  public struct Cell: Sendable, Hashable {
    var key: CounterKey
    var slot: Int64
    var count: Int64
    var keepUntil: UnixTime
  }

  var records: [Record] = []
  var entries: [(key: InboxKey, entry: InboxEntry)] = []
  var cells: [Cell] = []
  var messages: [OutboxMessage] = []
  /// Rows that this version cannot read.
  var unreadable = 0
  /// Rows of the page, readable or not.
  var rows = 0
}

/// Beginning of the next page.
public struct StorePlace: Sendable, Hashable {
  /// Number of the last row.
  var number: Int64 = -1
  /// Key of the last row, where rows have no number.
  var key: [UInt8] = []
}

/// Reads a store from end to end.
public protocol StoreArchive: Sendable {
  /// Reads the rows of a part that follow a place, in their order.
  /// - Returns: the page, and the place behind it.
  /// - Throws: ``StoreError``.
  func page(
    _ part: StoreCopyPart, behind place: StorePlace, limit: Int
  ) async throws(StoreError) -> (page: StorePage, place: StorePlace)

  /// Counts all rows.
  /// - Throws: ``StoreError``.
  func counts() async throws(StoreError) -> StoreCounts
}

/// Copies everything from one store into another, empty one.
///
/// Messages of the outbox become the target's own, in hand: once its owner has ended they are claimed as doubtful, since
/// the process before may have published them. Marks of crashed messages are not copied.
public struct StoreCopy: Sendable {
  /// Rows of one transaction.
  public static let pageRows = 512

  private let source: any StoreArchive
  private let target: any Store

  public init(from source: any StoreArchive, to target: any Store) {
    self.source = source
    self.target = target
  }

  /// Outcome of a copy.
  public struct Outcome: Sendable, Hashable {
    /// Rows that were written.
    public var copied = StoreCounts()
    /// Rows that this version cannot read, which stay behind.
    public var unreadable = 0
  }

  /// Copies everything. The target has the ``StoreCopyMark`` until it is whole.
  /// - Parameters:
  ///   - now: time of the transactions.
  ///   - progress: called after each page with the part and its rows so far.
  ///   - verify: called with the outcome before the mark is taken away.
  /// - Throws: ``StoreError``, or the error of `verify`; a part may be written then, under the mark.
  public func run(
    at now: UnixTime, progress: @Sendable (StoreCopyPart, Int) -> Void,
    verify: @Sendable (Outcome) async throws(StoreError) -> Void
  ) async throws(StoreError) -> Outcome {
    var outcome = Outcome()
    try await StoreCopyMark.set(true, in: target)
    for part in StoreCopyPart.allCases {
      var place = StorePlace()
      var rows = 0
      while true {
        let next = try await source.page(part, behind: place, limit: Self.pageRows)
        try await write(next.page, at: now)
        outcome.add(next.page)
        rows += next.page.rows
        place = next.place
        progress(part, rows)
        if next.page.rows < Self.pageRows { break }
      }
    }
    try await verify(outcome)
    try await StoreCopyMark.set(false, in: target)
    return outcome
  }

  /// Writes a page in one transaction, or in several when it is too large for one.
  private func write(_ page: StorePage, at now: UnixTime) async throws(StoreError) {
    do throws(StoreError) {
      try await writeAtOnce(page, at: now)
    } catch {
      guard error.code == .tooLarge, let halves = page.halves else { throw error }
      for half in halves { try await write(half, at: now) }
    }
  }

  private func writeAtOnce(_ page: StorePage, at now: UnixTime) async throws(StoreError) {
    var keys = StoreKeys()
    for (key, _) in page.entries { keys.add(message: key) }
    let outcome = try await target.transact(StoreLoad(keys), at: now) { set throws(StoreError) -> Void in
      for record in page.records { try set.put(record) }
      for (key, entry) in page.entries { try set.set(entry, of: key) }
      for cell in page.cells { set.count(cell.key, in: cell.slot, by: cell.count, keepUntil: cell.keepUntil) }
      for message in page.messages { try set.send(message) }
    }
    if case .conflict(let conflict) = outcome { throw StoreError(.conflict, conflict.description) }
  }
}

extension StorePage {
  /// Both halves of a page with several readable rows.
  fileprivate var halves: [StorePage]? {
    guard max(records.count, entries.count, cells.count, messages.count) > 1 else { return nil }
    var (first, second) = (StorePage(), StorePage())
    (first.records, second.records) = Self.halves(of: records)
    (first.entries, second.entries) = Self.halves(of: entries)
    (first.cells, second.cells) = Self.halves(of: cells)
    (first.messages, second.messages) = Self.halves(of: messages)
    return [first, second]
  }

  private static func halves<Row>(of rows: [Row]) -> ([Row], [Row]) {
    (Array(rows.prefix(rows.count / 2)), Array(rows.dropFirst(rows.count / 2)))
  }
}

extension StoreCopy.Outcome {
  fileprivate mutating func add(_ page: StorePage) {
    copied.records += page.records.count
    copied.keys += page.records.reduce(0) { $0 + $1.uniqueKeys.count + $1.groupKeys.count }
    copied.inbox += page.entries.count
    copied.cells += page.cells.count
    copied.events += page.cells.reduce(0) { $0 + $1.count }
    copied.messages += page.messages.count
    unreadable += page.unreadable
  }
}
