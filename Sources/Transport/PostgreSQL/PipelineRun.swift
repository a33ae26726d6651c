import CPostgreSQL
import CountersignTelemetry

/// Statements that go to the server in one piece, and their answers (libpq's pipeline mode, section 34.5 of its
/// documentation).
///
/// The server carries them out in order up to the first error, skips the others up to the end of the run, and is in step
/// again there.
struct PipelineRun {
  /// The largest number of values of one statement: 16 bits in the protocol.
  private static let maxValues = 65_535
  /// Errors after which a statement has to be prepared anew: "cached plan must not change result type", an unknown
  /// name, a name that exists.
  private static let staleStates: Set<String> = ["0A000", "26000", "42P05"]

  /// In the order of the server's answers.
  private enum Request {
    case forget(name: String)
    case prepare(name: String, statement: Int)
    case run(statement: Int, wasPrepared: Bool)
  }

  private let link: ServerLink
  private let statements: [PostgreSQLStatement]
  private let deadline: ContinuousClock.Instant
  private var requests: [Request] = []
  private var size = 0
  private var error: StoreError?

  private(set) var rows: [PostgreSQLRows] = []
  private(set) var tag = ""
  /// Whether the same run may succeed now, because the error was that of a statement prepared earlier.
  private(set) var isStale = false

  init(_ statements: [PostgreSQLStatement], on link: ServerLink, within limit: Duration?) {
    self.statements = statements
    self.link = link
    let longest = link.options.runTimeout
    deadline = .now + (limit.map { min($0, longest) } ?? longest)
  }

  mutating func perform() throws(StoreError) {
    guard !link.isBroken else { throw link.lost() }
    let values = try encoded()
    let start = ContinuousClock.now
    do throws(StoreError) {
      try send(values)
      try receive()
    } catch {
      link.isBroken = true
      throw error
    }
    link.didAnswer(rows.count, sentAt: start)
    if let error { throw error }
    guard rows.count == statements.count else {
      link.isBroken = true
      throw StoreError(.unexpectedResult, "\(link.address) answers with another number of results")
    }
  }

  // MARK: Sending

  private func encoded() throws(StoreError) -> [BinaryFormat.Values] {
    var encoded: [BinaryFormat.Values] = []
    encoded.reserveCapacity(statements.count)
    var size = 0
    for statement in statements {
      guard statement.values.count <= Self.maxValues, !statement.sql.utf8.contains(0) else {
        throw StoreError(.misuse, "a statement has more than \(Self.maxValues) values, or contains U+0000")
      }
      let values = try BinaryFormat.Values(statement.values, maxBytes: link.options.maxValueBytes)
      size += values.bytes.count
      guard size <= link.options.maxRunBytes else {
        throw StoreError(.tooLarge, "the values of a run are larger than \(link.options.maxRunBytes) bytes")
      }
      encoded.append(values)
    }
    return encoded
  }

  private mutating func send(_ values: [BinaryFormat.Values]) throws(StoreError) {
    for (number, values) in values.enumerated() { try send(number, values) }
    for name in link.statements.takeDiscarded() {
      // Names are our own.
      try check(PQsendQueryParams(link.handle, "DEALLOCATE \(name)", 0, nil, nil, nil, nil, 1))
      requests.append(.forget(name: name))
    }
    try check(PQpipelineSync(link.handle))
  }

  private mutating func send(_ number: Int, _ values: BinaryFormat.Values) throws(StoreError) {
    let statement = statements[number]
    let count = Int32(values.types.count)
    guard statement.isPrepared else {
      requests.append(.run(statement: number, wasPrepared: false))
      return try check(
        values.withPointers { PQsendQueryParams(link.handle, statement.sql, count, $0, $1, $2, $3, 1) })
    }
    let plan = link.statements.plan(statement.sql, values.types)
    if let types = plan.types {
      requests.append(.prepare(name: plan.name, statement: number))
      try check(PQsendPrepare(link.handle, plan.name, statement.sql, count, types.map(\.number)))
    }
    requests.append(.run(statement: number, wasPrepared: plan.types == nil))
    try check(values.withPointers { PQsendQueryPrepared(link.handle, plan.name, count, $1, $2, $3, 1) })
  }

  private func check(_ status: Int32) throws(StoreError) {
    if status != 1 { throw link.lost() }
  }

  // MARK: Receiving

  private mutating func receive() throws(StoreError) {
    for request in requests { try receive(request) }
    try link.waitForResult(until: nextDeadline)
    let result = PQgetResult(link.handle)
    defer { PQclear(result) }
    guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else { throw link.lost() }
    // The end of the synchronization's own results: libpq is idle after it.
    PQclear(PQgetResult(link.handle))
  }

  /// The server ends a statement by itself. Beyond that it is silent.
  private var nextDeadline: ContinuousClock.Instant {
    min(deadline, .now + link.options.statementTimeout + link.options.answerGrace)
  }

  private mutating func receive(_ request: Request) throws(StoreError) {
    var rows = RowCollector(
      maxRows: maxRows(of: request), maxValueBytes: link.options.maxValueBytes,
      maxBytes: link.options.maxRunBytes - size)
    // Row by row, so that a result that is too large is not collected by libpq. It has to be asked for before the answer
    // is looked at.
    if case .run = request { PQsetSingleRowMode(link.handle) }
    let limit = nextDeadline
    var isAnswered = false
    while true {
      try link.waitForResult(until: limit)
      guard let result = PQgetResult(link.handle) else { break }
      defer { PQclear(result) }
      isAnswered = true
      try take(result, of: request, &rows)
    }
    guard isAnswered else { throw link.lost() }
  }

  private mutating func take(
    _ result: OpaquePointer, of request: Request, _ collector: inout RowCollector
  ) throws(StoreError) {
    switch PQresultStatus(result) {
    case PGRES_SINGLE_TUPLE:
      collector.add(result)
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
      collector.add(result)
      finish(request, collector, result)
    case PGRES_FATAL_ERROR:
      let error = StoreError(result: result, sql: text(of: request))
      guard error.code != .connectionLost else { throw error }
      fail(request, error)
    case PGRES_PIPELINE_ABORTED:
      skip(request)
    default:
      throw StoreError(.misuse, "COPY is not supported: \(text(of: request))")
    }
  }

  private mutating func finish(_ request: Request, _ collector: RowCollector, _ last: OpaquePointer) {
    guard case .run = request else { return }
    if let excess = collector.excess, error == nil { error = excess }
    size += collector.size
    rows.append(collector.rows(last))
    tag = PQcmdStatus(last).map { String(cString: $0) } ?? ""
  }

  private mutating func fail(_ request: Request, _ error: StoreError) {
    // A later one is the consequence of the first.
    if self.error == nil { self.error = error }
    switch request {
    case .forget: isStale = true
    case .prepare(let name, _): link.statements.remove(name)
    case .run(_, let wasPrepared): isStale = wasPrepared && Self.staleStates.contains(error.sqlState ?? "")
    }
    guard isStale else { return }
    if error.sqlState == "0A000" { link.statements.discardAll() } else { link.statements.forgetAll() }
  }

  private func skip(_ request: Request) {
    switch request {
    case .forget(let name): link.statements.putBack(name)
    case .prepare(let name, _): link.statements.remove(name)
    case .run: break
    }
  }

  private func maxRows(of request: Request) -> Int {
    guard case .run(let statement, _) = request else { return 0 }
    return statements[statement].maxRows
  }

  private func text(of request: Request) -> String {
    switch request {
    case .forget(let name): "DEALLOCATE \(name)"
    case .prepare(_, let statement), .run(let statement, _): statements[statement].sql
    }
  }
}
