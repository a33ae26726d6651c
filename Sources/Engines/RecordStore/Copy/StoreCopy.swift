import CountersignCryptography
import CountersignEncoding
public import PostgreSQL
import SQLite

/// Copies everything that a service has stored from a file into a database of a server, or back.
///
/// Rows go in the order of their keys, a page a transaction, so an interrupted copy goes on behind the last row that
/// arrived. Left out are processes, their marks and what they had in hand: messages of the outbox are claimed anew.
public struct StoreCopy: Sendable {
  /// Place of a service's data.
  public enum Place: Sendable {
    /// An SQLite file.
    case file(String)
    /// A database of PostgreSQL, with the limits of its connections.
    case database(PostgreSQLEndpoint, PostgreSQLOptions)
  }

  /// Rows of a table.
  public struct Part: Sendable, Hashable {
    /// Name of the table.
    public let table: String
    /// Rows that are in the target, and all of them.
    public var rows, all: Int
  }

  /// Progress of a copy.
  public enum Step: Sendable, Hashable {
    /// Deletes the rows that an earlier copy left in the target.
    case clearing
    case copied(Part)
    case comparing(table: String)
  }

  static let pageRows = 512

  private let source, target: Place
  private let beginsAnew: Bool

  /// - Parameters:
  ///   - source: the place to copy from.
  ///   - target: an empty place, or one where this copy was interrupted.
  ///   - beginsAnew: whether an interrupted copy, of either place, is given up.
  public init(from source: Place, to target: Place, beginsAnew: Bool = false) {
    (self.source, self.target, self.beginsAnew) = (source, target, beginsAnew)
  }

  /// Looks at both places as ``run(progress:)`` does, and copies nothing.
  /// - Returns: the tables, with the rows that an interrupted copy has written.
  /// - Throws: ``StoreError``, as the copy would.
  public func preview() async throws(StoreError) -> [Part] {
    try await withSides(creatingTarget: false) { (source, target) throws(StoreError) in
      guard let target else { return try await parts(source, nil) }
      let plan = try await plan(source, target)
      return try await parts(source, plan.isResumed ? target : nil)
    }
  }

  /// Copies everything, and compares number and content of the rows.
  /// - Parameter progress: called with each step.
  /// - Returns: the tables.
  /// - Throws: ``StoreError``. The target may hold a part then, on which no service starts and where the next call
  ///   goes on.
  public func run(progress: @Sendable (Step) -> Void) async throws(StoreError) -> [Part] {
    try await withSides(creatingTarget: true) { (source, target) throws(StoreError) in
      guard let target else { throw StoreError(.misuse, "a copy has no target") }
      let plan = try await plan(source, target)
      try await begin(plan, source, target, progress)
      for table in CopiedTable.all { try await copy(table, source, target, progress) }
      try await target.advance()
      for table in CopiedTable.all {
        progress(.comparing(table: table.name))
        try await compare(table, source, target)
      }
      guard try await source.mark()?.id == plan.id else { throw Self.changed(source.name, target.name) }
      let parts = try await parts(source, target)
      try await target.setMark(nil)
      try await source.setMark(nil)
      return parts
    }
  }

  // MARK: Both sides

  private func withSides<Value: Sendable>(
    creatingTarget: Bool,
    _ body: (CopySide, CopySide?) async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let source = try await self.source.open(creating: nil)
    let result: Result<Value, StoreError>
    do throws(StoreError) {
      guard let kind = source.kind else {
        throw StoreError(.content, "\(source.name) holds nothing: no process has used it")
      }
      let target = try await openTarget(of: kind, creating: creatingTarget)
      do throws(StoreError) {
        if let target, let other = target.kind, other != kind {
          throw StoreError(.content, "\(target.name) belongs to \(other), and \(source.name) to \(kind)")
        }
        result = .success(try await body(source, target))
      } catch {
        result = .failure(error)
      }
      await target?.close()
    } catch {
      result = .failure(error)
    }
    await source.close()
    return try result.get()
  }

  /// `nil` for a file that is not there yet, and is not to be made.
  private func openTarget(of kind: DatabaseKind, creating: Bool) async throws(StoreError) -> CopySide? {
    if !creating, case .file(let path) = target, !CopySide.exists(path) { return nil }
    return try await target.open(creating: creating ? kind : nil)
  }

  // MARK: Plan

  private struct Plan {
    var id: String
    var isResumed = false
    var clearsTarget = false
  }

  private func plan(_ source: CopySide, _ target: CopySide) async throws(StoreError) -> Plan {
    let (left, right) = (try await source.mark(), try await target.mark())
    if let error = StoreError.isPart(left) { throw error }
    if let left, let right, right.isTarget, left.id == right.id, !beginsAnew {
      return Plan(id: left.id, isResumed: true)
    }
    if let right, right.isTarget {
      guard beginsAnew else {
        throw StoreError(
          .content,
          "\(target.name) holds a part of \(right.other), whose copy was given up: --anew deletes it and begins anew")
      }
      return Plan(id: Self.makeID(), clearsTarget: true)
    }
    guard try await isEmpty(target) else {
      throw StoreError(
        .content,
        "\(target.name) holds data already: name an empty place, or drop the database and run 'countersign store create'"
      )
    }
    if let left, left.other != target.name, !beginsAnew {
      throw StoreError(
        .content,
        "a copy of \(source.name) into \(left.other) has begun: go on with that, or give it up with --anew")
    }
    return Plan(id: Self.makeID())
  }

  private static func makeID() -> String { Hexadecimal.encode(SecureRandom.bytes(16)) }

  private func isEmpty(_ target: CopySide) async throws(StoreError) -> Bool {
    for table in CopiedTable.all where try await target.last(of: table) != nil { return false }
    return true
  }

  /// The mark of the source comes first: a target that has none is empty.
  private func begin(
    _ plan: Plan, _ source: CopySide, _ target: CopySide, _ progress: @Sendable (Step) -> Void
  ) async throws(StoreError) {
    guard !plan.isResumed else { return }
    try await source.setMark(CopyMark(id: plan.id, isTarget: false, other: target.name))
    let mark = CopyMark(id: plan.id, isTarget: true, other: source.name)
    guard plan.clearsTarget else { return try await target.setMark(mark) }
    progress(.clearing)
    try await target.clear(mark)
  }

  // MARK: Rows

  private func copy(
    _ table: CopiedTable, _ source: CopySide, _ target: CopySide, _ progress: @Sendable (Step) -> Void
  ) async throws(StoreError) {
    var part = try await part(table, source, target)
    var key = try await target.last(of: table)
    while true {
      let rows = try await page(of: table, behind: key, in: source)
      guard let last = rows.last else { break }
      try await add(rows, to: table, of: target)
      key = Array(last.prefix(table.keyCount))
      part.rows += rows.count
      progress(.copied(part))
    }
  }

  /// A page, or less of it when its rows are large.
  private func page(
    of table: CopiedTable, behind key: [Value]?, in side: CopySide, limit: Int = pageRows
  ) async throws(StoreError) -> [[Value]] {
    do throws(StoreError) {
      return try await side.rows(of: table, behind: key, limit: limit)
    } catch {
      guard error.code == .tooLarge, limit > 1 else { throw error }
      return try await page(of: table, behind: key, in: side, limit: limit / 2)
    }
  }

  private func add(_ rows: [[Value]], to table: CopiedTable, of target: CopySide) async throws(StoreError) {
    do throws(StoreError) {
      try await target.add(rows, to: table)
    } catch {
      guard error.code == .tooLarge, rows.count > 1 else { throw error }
      try await add(Array(rows.prefix(rows.count / 2)), to: table, of: target)
      try await add(Array(rows.dropFirst(rows.count / 2)), to: table, of: target)
    }
  }

  // MARK: Comparison

  private func parts(_ source: CopySide, _ target: CopySide?) async throws(StoreError) -> [Part] {
    var parts: [Part] = []
    for table in CopiedTable.all { parts.append(try await part(table, source, target)) }
    return parts
  }

  private func part(
    _ table: CopiedTable, _ source: CopySide, _ target: CopySide?
  ) async throws(StoreError) -> Part {
    Part(table: table.name, rows: try await target?.count(table) ?? 0, all: try await source.count(table))
  }

  private func compare(
    _ table: CopiedTable, _ source: CopySide, _ target: CopySide
  ) async throws(StoreError) {
    let sum = try await checksum(of: table, in: source)
    guard try await checksum(of: table, in: target) == sum else { throw Self.changed(source.name, target.name) }
  }

  private struct Checksum: Hashable {
    var rows = 0
    var digest: [UInt8] = []

    mutating func add(_ row: [Value]) {
      rows += 1
      digest = SHA256.hash(digest + row.flatMap(\.framed))
    }
  }

  private func checksum(of table: CopiedTable, in side: CopySide) async throws(StoreError) -> Checksum {
    var sum = Checksum()
    var key: [Value]?
    while true {
      let rows = try await page(of: table, behind: key, in: side)
      guard let last = rows.last else { return sum }
      for row in rows { sum.add(row) }
      key = Array(last.prefix(table.keyCount))
    }
  }

  private static func changed(_ source: String, _ target: String) -> StoreError {
    StoreError(
      .content,
      "\(source) has changed since its copy into \(target) began, or \(target) has: run it again with --anew")
  }
}

extension StoreCopy.Place {
  fileprivate func open(creating kind: DatabaseKind?) async throws(StoreError) -> CopySide {
    switch self {
    case .file(let path): try await CopySide.open(path, creating: kind)
    case .database(let endpoint, let options):
      try await CopySide.open(endpoint, options, creating: kind)
    }
  }
}

extension Value {
  /// Bytes that no other value has, and that end where they say.
  fileprivate var framed: [UInt8] {
    let (sort, bytes): (UInt8, [UInt8]) =
      switch self {
      case .null, .real: (0, [])
      case .integer(let integer): (1, Array("\(integer)".utf8))
      case .text(let text): (2, Array(text.utf8))
      case .blob(let blob): (3, blob)
      }
    return [sort] + Array("\(bytes.count):".utf8) + bytes
  }
}
