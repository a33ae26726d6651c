public import CountersignTelemetry
public import PostgreSQL
public import RecordStore
import SQLite
import Synchronization

/// Marks as records of a table, which outlive a crash.
public final class RecordMarks: MarkStore {
  /// Number of marks at which the oldest go. A process has marks of a few groups at once, and leaves them when it dies.
  static let maxRows = 4096
  /// Maximum age of a mark: far longer than a redelivered message waits for a consumer.
  static let retention: Duration = .seconds(48 * 3600)
  private static let kind = RecordKind("crashMark")

  private let table: RecordTable
  /// Marks of this process, up to ``maxRows``: those of a few groups, and those that could not be removed.
  private let held = Mutex<[MessageKey: Held]>([:])

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
    // The last one of a message counts, as if each were written by itself.
    let own = Dictionary(marks.map { ($0.key, Held(MarkRecord($0), at: now)) }) { _, later in later }
    held.withLock { held in
      for (key, mark) in own where held.count < Self.maxRows { held[key] = mark }
    }
    let replaced = marks.flatMap { mark in
      mark.standing.replaced.map { TableRecord(Self.kind, mark.key.bytes, owner: $0) }
    }
    try await table.change(
      removing: replaced, writing: own.map { $1.record(of: $0, .ourselves) },
      forgetting: [TableAge(Self.kind, before: now - Self.retention, beyond: Self.maxRows)])
  }

  public func relax(_ key: MessageKey) async throws(StoreError) {
    let mark = held.withLock { held in
      held[key]?.mark.isAlone = false
      return held[key]
    }
    guard let mark else { return }
    try await table.change(writing: [mark.record(of: key, .ourselves)])
  }

  public func remove(_ keys: [MessageKey]) async throws(StoreError) {
    try await end(keys, known: [])
  }

  public func giveBack(_ keys: [MessageKey]) async throws(StoreError) {
    let held = held.withLock { $0 }
    try await end(keys, known: keys.compactMap { key in held[key]?.givenBack(of: key, begun: 1) })
  }

  public func release() async throws(StoreError) {
    let held = held.withLock { $0 }
    // What was begun once and did not crash is not known.
    let known = held.filter { $1.mark.isSuspect || $1.mark.begun > 0 }
    try await end(Array(held.keys), known: known.map { $1.givenBack(of: $0, begun: 0) })
  }

  public func close() async { await table.close() }

  /// Removes the marks of this process, and leaves what is known of their messages.
  private func end(_ keys: [MessageKey], known: [TableRecord]) async throws(StoreError) {
    let own = keys.map { TableRecord(Self.kind, $0.bytes, state: .ourselves) }
    try await table.change(removing: own, writing: known)
    held.withLock { held in
      for key in keys { held[key] = nil }
    }
  }

  private struct Held {
    var mark: MarkRecord
    let writtenAt: UnixTime

    init(_ mark: MarkRecord, at now: UnixTime) {
      self.mark = mark
      writtenAt = now
    }

    func record(of key: MessageKey, _ state: OwnerState) -> TableRecord {
      TableRecord(RecordMarks.kind, key.bytes, state: state, writtenAt: writtenAt, body: mark.bytes)
    }

    func givenBack(of key: MessageKey, begun: Int) -> TableRecord {
      var held = self
      held.mark.isAlone = false
      held.mark.begun += begun
      return held.record(of: key, .nobody)
    }
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
