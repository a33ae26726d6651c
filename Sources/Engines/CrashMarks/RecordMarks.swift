public import CountersignTelemetry
public import PostgreSQL
public import RecordStore
import SQLite

/// Marks as records of a table, which outlive a crash.
public final class RecordMarks: MarkStore {
  /// Number of marks at which the oldest go. A process has marks of a few groups at once, and leaves them when it dies.
  static let maxRows = 4096
  /// Maximum age of a mark: far longer than a redelivered message waits for a consumer.
  static let retention: Duration = .seconds(48 * 3600)
  private static let kind = RecordKind("crashMark")

  private let table: RecordTable

  /// - Parameter table: a table whose records have owners; closed with the marks.
  public init(_ table: RecordTable) {
    self.table = table
  }

  /// Opens the marks' own file, or creates it.
  /// - Parameter path: the file; its directory must exist.
  public static func open(path: String) async throws(StoreError) -> RecordMarks {
    RecordMarks(try await RecordTable.open(path: path, of: .marks, hasOwners: true))
  }

  /// Connects to the marks of a database, which processes of several hosts share: each judges those of the dead of all.
  public static func open(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions = PostgreSQLOptions()
  ) async throws(StoreError) -> RecordMarks {
    RecordMarks(try await RecordTable.open(endpoint, options: options, at: .marks))
  }

  public func find(_ keys: [MessageKey]) async throws(StoreError) -> [MessageKey: MarkStanding] {
    let known = Dictionary(keys.map { ($0.bytes, $0) }) { first, _ in first }
    var marks: [MessageKey: [MarkRecord]] = [:]
    for record in try await table.find(Self.kind, Array(known.keys)) {
      guard let key = known[record.key], let mark = MarkRecord(record) else { continue }
      marks[key, default: []].append(mark)
    }
    return marks.mapValues { MarkStanding($0) }
  }

  public func write(_ marks: [NewMark], at now: UnixTime) async throws(StoreError) {
    let replaced = marks.flatMap { mark in
      mark.standing.replaced.map { TableRecord(Self.kind, mark.key.bytes, owner: $0) }
    }
    // The last one of a message counts, as if each were written by itself.
    let own = Dictionary(marks.map { ($0.key.bytes, MarkRecord($0).bytes) }) { _, later in later }
    try await table.change(
      removing: replaced,
      writing: own.map { TableRecord(Self.kind, $0, state: .ourselves, writtenAt: now, body: $1) },
      forgetting: [TableAge(Self.kind, before: now - Self.retention, beyond: Self.maxRows)])
  }

  public func relax(_ key: MessageKey) async throws(StoreError) {
    // One that was removed meanwhile does not come back: it would look like a crash.
    for mark in try await own([key]) { try await table.replace(mark.changed { $0.isAlone = false }) }
  }

  public func remove(_ keys: [MessageKey]) async throws(StoreError) {
    try await table.change(removing: keys.map { TableRecord(Self.kind, $0.bytes, state: .ourselves) })
  }

  public func giveBack(_ keys: [MessageKey]) async throws(StoreError) {
    let own = try await own(keys)
    try await table.change(removing: own, writing: own.map { $0.givenBack(begun: 1) })
  }

  public func release() async throws(StoreError) {
    let own = try await table.latest(Self.kind, limit: Self.maxRows).filter { $0.state == .ourselves }
    // What was begun once and did not crash is not known.
    let known = own.filter { record in MarkRecord(record).map { $0.isSuspect || $0.begun > 0 } ?? false }
    try await table.change(removing: own, writing: known.map { $0.givenBack(begun: 0) })
  }

  public func close() async { await table.close() }

  private func own(_ keys: [MessageKey]) async throws(StoreError) -> [TableRecord] {
    try await table.find(Self.kind, keys.map(\.bytes)).filter { $0.state == .ourselves }
  }
}

extension TableRecord {
  fileprivate func changed(_ change: (inout MarkRecord) -> Void) -> TableRecord {
    guard var mark = MarkRecord(self) else { return self }
    change(&mark)
    var record = self
    record.body = mark.bytes
    return record
  }

  fileprivate func givenBack(begun: Int) -> TableRecord {
    var record = changed { mark in
      mark.isAlone = false
      mark.begun += begun
    }
    (record.state, record.owner) = (.nobody, 0)
    return record
  }
}

extension MarkRecord {
  fileprivate init(_ mark: NewMark) {
    self.init(
      number: 0, owner: .ourselves, isAlone: mark.isAlone, isSuspect: mark.standing.isSuspect,
      deaths: mark.standing.deaths, begun: mark.standing.begun)
  }

  /// - Returns: `nil` for a record that this version cannot read.
  fileprivate init?(_ record: TableRecord) {
    guard record.body.count == 6 else { return nil }
    self.init(
      number: record.owner, owner: record.state, isAlone: record.body[0] & 1 != 0, isSuspect: record.body[0] & 2 != 0,
      deaths: Int(record.body[1]), begun: record.body[2...].reduce(0) { $0 << 8 | Int($1) })
  }

  /// Flags, deaths, and deliveries that were not settled.
  fileprivate var bytes: [UInt8] {
    let (flags, count): (UInt8, UInt32) = ((isAlone ? 1 : 0) | (isSuspect ? 2 : 0), UInt32(clamping: begun))
    let shifts: [UInt32] = [24, 16, 8, 0]
    return [flags, UInt8(clamping: deaths)] + shifts.map { UInt8(truncatingIfNeeded: count >> $0) }
  }
}
