import CPostgreSQL
import CountersignTelemetry

extension ServerLink {
  func run(
    _ statements: [PostgreSQLStatement], within limit: Duration? = nil, repeating repeats: Bool = false
  ) throws(StoreError) -> [PostgreSQLRows] {
    var run = PipelineRun(statements, on: self, within: limit)
    do throws(StoreError) {
      try run.perform()
    } catch {
      guard run.isStale, !isBroken else { throw error }
      guard repeats else {
        throw StoreError(
          .serialization, "the schema was changed meanwhile: \(error.message)", sqlState: error.sqlState)
      }
      if !isIdle { _ = try control("ROLLBACK") }
      return try self.run(statements, within: limit)
    }
    return run.rows
  }

  func control(_ sql: String) throws(StoreError) -> String {
    var run = PipelineRun([PostgreSQLStatement(sql, isPrepared: false)], on: self, within: nil)
    try run.perform()
    return run.tag
  }

  /// Runs several statements, separated by semicolons: not in pipeline mode, where that is not possible.
  func script(_ sql: String) throws(StoreError) {
    guard !isBroken else { throw lost() }
    let start = ContinuousClock.now
    do throws(StoreError) {
      try runScript(sql, until: start + options.runTimeout)
    } catch {
      // An error of the server's own leaves it in step.
      if error.sqlState == nil || error.code == .connectionLost { isBroken = true }
      throw error
    }
    didAnswer(1, sentAt: start)
  }

  private func runScript(_ sql: String, until deadline: ContinuousClock.Instant) throws(StoreError) {
    guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, sql) == 1 else { throw lost() }
    var failure: StoreError?
    while true {
      try waitForResult(until: deadline)
      guard let result = PQgetResult(handle) else { break }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
      case PGRES_FATAL_ERROR: failure = failure ?? StoreError(result: result, sql: sql)
      default: throw StoreError(.misuse, "COPY is not supported: \(sql)")
      }
    }
    guard PQstatus(handle) == CONNECTION_OK, PQenterPipelineMode(handle) == 1 else { throw failure ?? lost() }
    if let failure { throw failure }
  }
}
