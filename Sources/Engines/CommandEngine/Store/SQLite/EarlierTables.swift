public import CountersignTelemetry
import SQLite

/// Tables that an earlier version of the program left in the file of a store, and that are carried into the store.
///
/// It knows no table: a ``EarlierCarrier`` says which one it carries, and makes the store's content of a row. A row is
/// in its table or in the store, never in both and never in neither: each transaction stores the content of a page and
/// deletes exactly the rows that it read. So it may be interrupted anywhere, and goes on where it was.
public struct EarlierTables: Sendable {
  /// Rows of one transaction: it is short, and a commit is shared by many.
  public static let pageRows = 512

  private let store: SQLiteStore

  public init(beside store: SQLiteStore) {
    self.store = store
  }

  // MARK: Tables

  /// The tables among these that exist, in the same order.
  /// - Throws: ``StoreError``.
  public func existing(among tables: [String]) async throws(StoreError) -> [String] {
    try await store.look { session throws(StoreError) in
      var found: [String] = []
      for table in tables where try EarlierLayout.exists(table, session) { found.append(table) }
      return found
    }
  }

  /// The first rows of a table; none if it does not exist.
  /// - Throws: ``StoreError``.
  public func rows(of table: String, limit: Int = pageRows) async throws(StoreError) -> [EarlierRow] {
    try await store.look { session throws(StoreError) in
      try EarlierLayout(table, session)?.read(behind: nil, limit: limit, session).map(\.row) ?? []
    }
  }

  /// Drops a table and its companions, if it has no rows left.
  /// - Returns: whether they are gone.
  /// - Throws: ``StoreError``.
  @discardableResult
  public func dropEmpty(_ carrier: some EarlierCarrier) async throws(StoreError) -> Bool {
    try await store.change { session throws(StoreError) in
      if let layout = try EarlierLayout(carrier.table, session), !(try layout.isEmpty(session)) { return false }
      for table in [carrier.table] + carrier.companions {
        try session.execute("DROP TABLE IF EXISTS \(EarlierLayout.quoted(table))")
      }
      return true
    }
  }

  // MARK: Rows

  /// Carries the next page of a table.
  ///
  /// A row that cannot be read or stored stays where it is. It blocks no other: when the store does not take a page as
  /// a whole, each row gets a transaction of its own.
  /// - Parameters:
  ///   - carrier: makes the store's content of a row.
  ///   - place: end of the page before; `nil` for the first page.
  ///   - now: time of the transaction.
  /// - Throws: ``StoreError``, when the store fails; the page is left as it was, or a part of it is carried.
  public func carryPage(
    _ carrier: some EarlierCarrier, behind place: EarlierPlace?, at now: UnixTime
  ) async throws(StoreError) -> EarlierPage {
    let work = EarlierTransaction(carrier: carrier, owner: store.owners.own, now: now)
    if let page = try await run(work, behind: place, limit: Self.pageRows).page { return page }
    var sum = EarlierPage(place: place)
    while !sum.isLast, sum.rows < Self.pageRows {
      let (one, error) = try await run(work, behind: sum.place, limit: 1)
      if let one { sum.add(one) } else { sum.add(try await stepOver(carrier.table, behind: sum.place, error)) }
    }
    return sum
  }

  private func run(
    _ work: EarlierTransaction<some EarlierCarrier>, behind place: EarlierPlace?, limit: Int
  ) async throws(StoreError) -> (page: EarlierPage?, error: StoreError) {
    let failure = StoreFailure()
    do throws(StoreError) {
      let page = try await store.change(failure) { session throws(StoreError) in
        try work.run(behind: place, limit: limit, session)
      }
      return (page, FieldReader.unreadable)
    } catch {
      if let conflict = failure.conflict { return (nil, StoreError(.content, conflict.description)) }
      guard error.fault != .store else { throw error }
      return (nil, error)
    }
  }

  /// Leaves a row that the store does not take.
  private func stepOver(
    _ table: String, behind place: EarlierPlace?, _ error: StoreError
  ) async throws(StoreError) -> EarlierPage {
    let found = try await store.look { session throws(StoreError) in
      try EarlierLayout(table, session)?.read(behind: place, limit: 1, session).first
    }
    guard let found else { return EarlierPage(place: place, isLast: true) }
    return EarlierPage(place: found.place, failures: [error])
  }
}

/// Carries the rows of one table into the store.
public protocol EarlierCarrier: Sendable {
  /// The table.
  var table: String { get }
  /// Tables that are dropped with it: they only lead to its rows.
  var companions: [String] { get }
  /// Whether the messages of its rows may have been published already.
  var mayBeOut: Bool { get }

  /// Adds what carrying a row looks up: at least its own place in the store, which may be taken.
  /// - Throws: ``StoreError``, as ``carry(_:in:)``.
  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError)

  /// Puts the content of a row into the set, unless it is there. The row is deleted, also when it needs no place.
  ///
  /// Effects after the commit are not run.
  /// - Throws: ``StoreError``; a failure of the store ends the carrying, any other leaves the row where it is. After an
  ///   error of the content, a row that ``isOver(_:at:)`` is deleted.
  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError)

  /// Whether a row that cannot be read is so old that a readable one would be deleted; it is deleted as well: personal
  /// data is not kept for a later version.
  /// - Throws: ``StoreError/Code/content`` when even that cannot be read.
  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool
}

extension EarlierCarrier {
  public var companions: [String] { [] }
  public var mayBeOut: Bool { false }
  public func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {}
  public func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool { false }
}

/// Identity of a row, behind which the next page begins.
public struct EarlierPlace: Sendable, Hashable {
  /// Values of its key; text as its bytes, which need not be valid.
  fileprivate let key: [Value]
}

/// Outcome of a page.
public struct EarlierPage: Sendable {
  /// Rows that were carried, or needed no place in the store.
  public fileprivate(set) var carried = 0
  /// End of the page.
  public fileprivate(set) var place: EarlierPlace?
  /// Whether the table ends with it.
  public fileprivate(set) var isLast = false
  /// The reasons of the rows that stay, one for each.
  public fileprivate(set) var failures: [StoreError] = []

  fileprivate var rows: Int { carried + failures.count }

  fileprivate mutating func add(_ next: EarlierPage) {
    carried += next.carried
    place = next.place
    isLast = next.isLast
    failures += next.failures
  }
}

/// A row of an earlier table; its values are read by the names of their columns.
public struct EarlierRow: Sendable {
  fileprivate let places: [String: Int]
  fileprivate let values: [Value]

  private func value(_ column: String) -> Value? { places[column].map { values[$0] } }

  /// Text, or `nil` when it is NULL.
  /// - Throws: ``StoreError/Code/content`` when there is no such column, or it has another type.
  public func optionalText(_ column: String) throws(StoreError) -> String? {
    switch value(column) {
    case .text(let text): text
    case .null: nil
    default: throw unreadable(column)
    }
  }

  /// A number, or `nil` when it is NULL.
  /// - Throws: as ``optionalText(_:)``.
  public func optionalInt(_ column: String) throws(StoreError) -> Int? {
    switch value(column) {
    case .integer(let number): Int(number)
    case .null: nil
    default: throw unreadable(column)
    }
  }

  /// Bytes, or `nil` when they are NULL.
  /// - Throws: as ``optionalText(_:)``.
  public func optionalBlob(_ column: String) throws(StoreError) -> [UInt8]? {
    switch value(column) {
    case .blob(let bytes): bytes
    case .null: nil
    default: throw unreadable(column)
    }
  }

  /// A time in milliseconds since 1970, or `nil` when it is NULL.
  /// - Throws: as ``optionalText(_:)``.
  public func optionalTime(_ column: String) throws(StoreError) -> UnixTime? {
    try optionalInt(column).map { UnixTime(milliseconds: Int64($0)) }
  }

  /// Text.
  /// - Throws: ``StoreError/Code/content`` when there is none.
  public func text(_ column: String) throws(StoreError) -> String { try required(optionalText(column), column) }

  /// A number.
  /// - Throws: ``StoreError/Code/content`` when there is none.
  public func int(_ column: String) throws(StoreError) -> Int { try required(optionalInt(column), column) }

  /// A truth value.
  /// - Throws: ``StoreError/Code/content`` when there is none.
  public func bool(_ column: String) throws(StoreError) -> Bool { try int(column) != 0 }

  /// Bytes.
  /// - Throws: ``StoreError/Code/content`` when there are none.
  public func blob(_ column: String) throws(StoreError) -> [UInt8] { try required(optionalBlob(column), column) }

  /// A time.
  /// - Throws: ``StoreError/Code/content`` when there is none.
  public func time(_ column: String) throws(StoreError) -> UnixTime { try required(optionalTime(column), column) }

  /// One of the words of a type.
  /// - Throws: ``StoreError/Code/content`` for a word that this version does not know.
  public func word<Word: RawRepresentable>(_ column: String, _ type: Word.Type) throws(StoreError) -> Word
  where Word.RawValue == String {
    try required(Word(rawValue: text(column)), column)
  }

  private func required<Content>(_ content: Content?, _ column: String) throws(StoreError) -> Content {
    guard let content else { throw unreadable(column) }
    return content
  }

  private func unreadable(_ column: String) -> StoreError {
    StoreError(.content, "the column \(column) of an earlier row cannot be read")
  }
}

// MARK: - One transaction

/// The work of one transaction.
private struct EarlierTransaction<Carrier: EarlierCarrier>: Sendable {
  let carrier: Carrier
  let owner: Int64
  let now: UnixTime

  func run(behind place: EarlierPlace?, limit: Int, _ session: StoreSession) throws(StoreError) -> EarlierPage {
    // Another process may have been faster.
    guard let layout = try EarlierLayout(carrier.table, session) else { return EarlierPage(place: place, isLast: true) }
    let found = try layout.read(behind: place, limit: limit, session)
    var page = EarlierPage(place: found.last?.place ?? place, isLast: found.count < limit)
    var keys = StoreKeys()
    let readable = try attempt(found, &page) { row throws(StoreError) in
      var own = StoreKeys()
      try carrier.addKeys(of: row, to: &own, at: now)
      keys.add(own)
    }
    var set = WorkingSet(at: now)
    try SQLiteLoad(session: session).load(keys, into: &set)
    let carried = try attempt(readable, &page) { row throws(StoreError) in
      try set.attempt { set throws(StoreError) in try carrier.carry(row, in: &set) }
    }
    for (_, place) in carried { try layout.delete(place, session) }
    page.carried += carried.count
    try write(set.changes, session)
    return page
  }

  private func attempt(
    _ found: [EarlierLayout.Found], _ page: inout EarlierPage, _ step: (EarlierRow) throws(StoreError) -> Void
  ) throws(StoreError) -> [EarlierLayout.Found] {
    var left: [EarlierLayout.Found] = []
    for item in found {
      do throws(StoreError) {
        do throws(StoreError) {
          try step(item.row)
        } catch {
          guard error.fault == .content, try carrier.isOver(item.row, at: now) else { throw error }
        }
        left.append(item)
      } catch {
        guard error.fault != .store else { throw error }
        page.failures.append(error)
      }
    }
    return left
  }

  private static var lastNumber: String { "SELECT last FROM store_sequence WHERE name = 'outbox'" }
  private static var markOut: String { "UPDATE store_outbox SET tries = 1 WHERE number > ? AND owner = ?" }

  private func write(_ changes: StoreChanges, _ session: StoreSession) throws(StoreError) {
    let last = try session.first(Self.lastNumber, []) { $0.int(0) }
    _ = try SQLiteWrite(session: session, owner: owner, now: now).write(changes, forClaims: true)
    guard carrier.mayBeOut, !changes.outgoing.isEmpty else { return }
    try session.execute(Self.markOut, [Value(last ?? 0), .integer(owner)])
  }
}

/// Columns and key of an earlier table, as the file describes them.
private struct EarlierLayout {
  typealias Found = (row: EarlierRow, place: EarlierPlace)

  private struct Column {
    let name: String
    let type: String
    /// Place in the primary key, from 1; 0 for a column outside it.
    let place: Int

    var isText: Bool { type == "TEXT" }
  }

  private let table: String
  private let columns: [Column]
  /// Columns of the key, as they are compared, read and bound. Text is read and bound as bytes: damaged text would not
  /// come back as it was.
  private let key: [(name: String, read: String, mark: String, isNumber: Bool)]

  static func quoted(_ name: String) -> String { "\"\(name.split(separator: "\"").joined())\"" }

  static func exists(_ table: String, _ session: StoreSession) throws(StoreError) -> Bool {
    try session.first("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", [.text(table)]) { $0.int(0) }
      != nil
  }

  init?(_ table: String, _ session: StoreSession) throws(StoreError) {
    self.table = Self.quoted(table)
    columns = try session.query(
      "SELECT name, upper(type), pk FROM pragma_table_info(?) ORDER BY cid", [.text(table)]
    ) { Column(name: $0.text(0), type: $0.text(1), place: $0.int(2)) }
    guard !columns.isEmpty else { return nil }
    let hasRowID =
      try session.first("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?", [.text(table)]) {
        $0.int(0)
      } == 0
    guard !hasRowID else {
      key = [("rowid", "rowid", "?", true)]
      return
    }
    key = columns.filter { $0.place > 0 }.sorted { $0.place < $1.place }.map { column in
      let name = Self.quoted(column.name)
      return column.isText
        ? (name, "CAST(\(name) AS BLOB)", "CAST(? AS TEXT)", false) : (name, name, "?", column.type == "INTEGER")
    }
  }

  private func list(_ texts: [String]) -> String { texts.joined(separator: ", ") }

  /// Reads rows in the order of their key.
  func read(behind place: EarlierPlace?, limit: Int, _ session: StoreSession) throws(StoreError) -> [Found] {
    let start = place == nil ? "" : "WHERE (\(list(key.map(\.name)))) > (\(list(key.map(\.mark))))"
    let places = Dictionary(uniqueKeysWithValues: columns.enumerated().map { ($1.name, $0) })
    return try session.query(
      """
      SELECT \(list(key.map(\.read) + columns.map { Self.quoted($0.name) })) FROM \(table) \(start)
      ORDER BY \(list(key.map(\.name))) LIMIT ?
      """, (place?.key ?? []) + [Value(limit)]
    ) { row in
      let values = columns.enumerated().map { Self.value(row, key.count + $0, $1.type) }
      let place = EarlierPlace(
        key: key.enumerated().map { $1.isNumber ? .integer(Int64(row.int($0))) : .blob(row.blob($0)) })
      return (EarlierRow(places: places, values: values), place)
    }
  }

  private static func value(_ row: Row, _ column: Int, _ type: String) -> Value {
    if row.isNull(column) { return .null }
    return switch type {
    case "INTEGER", "INT": .integer(Int64(row.int(column)))
    case "TEXT": .text(row.text(column))
    default: .blob(row.blob(column))
    }
  }

  func delete(_ place: EarlierPlace, _ session: StoreSession) throws(StoreError) {
    let condition = key.map { "\($0.name) = \($0.mark)" }.joined(separator: " AND ")
    // A trigger may delete more with it.
    guard try session.execute("DELETE FROM \(table) WHERE \(condition)", place.key) >= 1 else {
      throw StoreError(.misuse, "a row of the table \(table) is not where it was read")
    }
  }

  func isEmpty(_ session: StoreSession) throws(StoreError) -> Bool {
    try session.first("SELECT 1 FROM \(table) LIMIT 1", []) { $0.int(0) } == nil
  }
}

// MARK: - What is carried

extension WorkingSet {
  /// Sends a message of an earlier version that waits for the reply to a command.
  /// - Parameters:
  ///   - command: the command whose reply goes out first.
  ///   - end: time at which the message goes even without the reply.
  /// - Throws: ``StoreError/Code/tooLarge``.
  public mutating func send(
    _ message: OutgoingMessage, afterReplyTo command: InboxKey, orAt end: UnixTime
  ) throws(StoreError) {
    try send(
      OutboxMessage(
        type: message.type, content: OutboxCodec.encode(message), discardAt: message.discardAfter,
        hold: OutboxMessage.Hold(untilReplyTo: command, orAt: end)))
  }
}

extension EngineMetrics {
  /// Counts rows of an earlier table that cannot be read, and are left there.
  public func countLeft(_ rows: Int, in table: String) {
    skippedRows.with(table).increment(by: UInt64(rows))
  }
}
