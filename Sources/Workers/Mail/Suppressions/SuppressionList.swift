import CountersignTelemetry
public import JobEngine
import RecordStore
import SQLite

/// The addresses that get no mail: shared by the mail-workers of a host, or of all hosts, and by the command line.
public struct SuppressionList: Sendable {
  private static let kind = RecordKind("suppression")

  private let table: RecordTable

  init(_ table: RecordTable) {
    self.table = table
  }

  /// Opens the list where the configuration has it: in its file, which is created if necessary, or in the ledger's
  /// database, whose tables have to be there.
  ///
  /// - Throws: `.storeUnavailable` or `.tablesMissing`, with a problem that the operator has to fix.
  public static func open(_ settings: TableSettings) async throws(WorkerError) -> SuppressionList {
    SuppressionList(try await settings.open(of: .suppressions))
  }

  /// Opens a list in a file, and creates the file if necessary.
  ///
  /// - Throws: `.storeUnavailable`, with a problem that the operator has to fix.
  public static func open(path: String) async throws(WorkerError) -> SuppressionList {
    do throws(StoreError) {
      return SuppressionList(try await RecordTable.open(path: path, of: .suppressions))
    } catch {
      throw WorkerError(.storeUnavailable, "suppressions.path", error)
    }
  }

  /// The entry of an address, or `nil`.
  public func entry(for address: MailAddress) async throws(WorkerError) -> Suppression? {
    try await asking("read") { (table) throws(StoreError) in
      try await table.find(Self.kind, [Array(address.key.utf8)]).first.flatMap(Suppression.init)
    }
  }

  /// Adds an entry, unless the address has one.
  public func add(_ entry: Suppression) async throws(WorkerError) {
    try await asking("written") { (table) throws(StoreError) -> Void in
      _ = try await table.add(entry.record(of: Self.kind))
    }
  }

  /// The entries, the latest first.
  ///
  /// - Parameter limit: maximum number of entries.
  public func entries(limit: Int) async throws(WorkerError) -> [Suppression] {
    try await asking("read") { (table) throws(StoreError) in
      try await table.latest(Self.kind, limit: limit).compactMap(Suppression.init)
    }
  }

  /// Removes an address from the list.
  ///
  /// - Returns: whether it was on the list.
  public func lift(_ address: MailAddress) async throws(WorkerError) -> Bool {
    try await asking("written") { (table) throws(StoreError) in
      try await table.remove(Self.kind, Array(address.key.utf8))
    }
  }

  /// Removes an address from the list, unless it came there at this time or later.
  func forget(_ address: MailAddress, since time: UnixTime) async throws(WorkerError) {
    try await asking("written") { (table) throws(StoreError) -> Void in
      let key = Array(address.key.utf8)
      for record in try await table.find(Self.kind, [key]) where record.writtenAt < time {
        _ = try await table.remove(Self.kind, key, holding: record.body)
      }
    }
  }

  /// Closes the file or the connection.
  public func close() async { await table.close() }

  private func asking<Answer>(
    _ what: String, _ body: (RecordTable) async throws(StoreError) -> Answer
  ) async throws(WorkerError) -> Answer {
    do throws(StoreError) { return try await body(table) } catch {
      throw WorkerError(.storeUnavailable, "the suppression list cannot be \(what): \(error)")
    }
  }
}

extension Suppression {
  /// Byte behind a text, which no UTF-8 has.
  private static let end: UInt8 = 0xFF

  /// - Returns: `nil` for a record that this version cannot read.
  fileprivate init?(_ record: TableRecord) {
    let texts = record.body.split(separator: Self.end, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard (2...3).contains(texts.count) else { return nil }
    self.init(
      address: String(decoding: record.key, as: UTF8.self), since: record.writtenAt, reason: texts[0],
      providerCode: texts.count > 2 ? texts[2] : nil, jobID: texts[1])
  }

  fileprivate func record(of kind: RecordKind) -> TableRecord {
    let texts = [reason, jobID, providerCode].compactMap { $0.map { Array($0.utf8) } }
    return TableRecord(
      kind, Array(address.utf8), writtenAt: since, body: Array(texts.joined(separator: [Self.end])))
  }
}
