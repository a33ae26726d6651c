import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Rows of a file that one command brings in.
struct ImportBatch: Sendable {
  /// A row that stays out, with the reason.
  struct Problem: Error, Sendable {
    let line: Int
    let reason: String
    /// Whether an account of the same ID is there and stays as it is.
    var isOfExisting = false
  }

  /// Sealed and in base64, together with all else, it is no longer than a message may be.
  static let maxBytes = 44_000

  /// Place among the batches of this run, from 0.
  let number: Int
  /// Rows of the file that are done with this batch and all before it.
  fileprivate(set) var end: Int
  fileprivate(set) var users: [UserFields] = []
  fileprivate(set) var lines: [Int] = []
  fileprivate(set) var problems: [Problem] = []
  /// Whether its hashes name their algorithm. `nil` without any.
  fileprivate(set) var hasOwnHashes: Bool?
  fileprivate var bytes = 0

  /// Second factors of the users that came in, without what proves them: an account has it, or it is lost.
  func factorsWithoutNumber(except problems: [Problem]) -> Int {
    let refused = Set(problems.map(\.line))
    return zip(users, lines).lazy.filter { !refused.contains($1) }.reduce(0) { count, row in
      count + (row.0.secondFactors ?? []).count { $0.phoneNumber == nil }
    }
  }
}

/// Cuts a file into batches.
struct ImportBatches {
  private struct Entry {
    let line: Int
    let user: UserFields
    let bytes: Int
    /// `nil` without a hash.
    let hasOwnHash: Bool?
  }

  private var reader: AccountFileReader
  private let hasHashParameters: Bool
  /// A user that did not fit into the batch before.
  private var rest: Entry?
  private var number = 0
  private(set) var rows = 0

  /// - Parameter hasHashParameters: whether it is known what made hashes that do not say so themselves.
  init(_ reader: AccountFileReader, hasHashParameters: Bool) {
    self.reader = reader
    self.hasHashParameters = hasHashParameters
  }

  /// Passes over rows that are done.
  mutating func skip(to row: Int) throws(CommandLineError) {
    while rows < row, try reader.next() != nil { rows += 1 }
  }

  mutating func next() throws(CommandLineError) -> ImportBatch? {
    var batch = ImportBatch(number: number, end: rows)
    if let rest { take(rest, into: &batch) }
    rest = nil
    while batch.users.count < UserBatch.maxUsers, batch.problems.count < UserBatch.maxUsers,
      let row = try reader.next()
    {
      switch read(row) {
      case .failure(let problem):
        batch.problems.append(problem)
        batch.end += 1
      case .success(let entry):
        guard fits(entry, into: batch) else {
          rest = entry
          return passed(batch)
        }
        take(entry, into: &batch)
      }
    }
    return batch.end > rows ? passed(batch) : nil
  }

  private mutating func passed(_ batch: ImportBatch) -> ImportBatch {
    rows = batch.end
    number += 1
    return batch
  }

  private func fits(_ entry: Entry, into batch: ImportBatch) -> Bool {
    guard batch.bytes + entry.bytes <= ImportBatch.maxBytes else { return false }
    guard let kind = batch.hasOwnHashes, let own = entry.hasOwnHash else { return true }
    return kind == own
  }

  private func take(_ entry: Entry, into batch: inout ImportBatch) {
    batch.users.append(entry.user)
    batch.lines.append(entry.line)
    batch.bytes += entry.bytes
    batch.hasOwnHashes = batch.hasOwnHashes ?? entry.hasOwnHash
    batch.end += 1
  }

  private func read(_ row: AccountFileRow) -> Result<Entry, ImportBatch.Problem> {
    let user: UserFields
    switch row.user {
    case .failure(let error): return .failure(ImportBatch.Problem(line: row.line, reason: error.description))
    case .success(let fields): user = fields
    }
    // Only a text that is too long has none.
    let bytes = (try? user.text().reveal().utf8.count) ?? Int.max
    guard bytes < ImportBatch.maxBytes else {
      let reason = "is longer than \(ImportBatch.maxBytes) bytes"
      return .failure(ImportBatch.Problem(line: row.line, reason: reason))
    }
    guard user.passwordHash == nil || row.hasOwnHash || hasHashParameters else {
      let reason = "has a hash, and nothing says what made it: give --hash-algo"
      return .failure(ImportBatch.Problem(line: row.line, reason: reason))
    }
    return .success(
      Entry(
        line: row.line, user: user, bytes: bytes + 1, hasOwnHash: user.passwordHash == nil ? nil : row.hasOwnHash))
  }
}
