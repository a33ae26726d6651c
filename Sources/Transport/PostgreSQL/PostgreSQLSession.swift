public import CountersignTelemetry

/// Access of a body to its connection, valid only while the body runs, on the connection's own thread. It blocks.
public final class PostgreSQLSession {
  private let link: ServerLink
  private let isTransaction: Bool
  private let roundTripsBefore: Int
  private var hasBegun = false
  private var isOver = false
  /// Error of an earlier run, after which the transaction cannot go on.
  private var failure: StoreError?

  /// Number of the connection: see ``PostgreSQLStatus/generation``.
  public let generation: Int

  /// Requests that this body has made and the server has answered.
  public var roundTrips: Int { link.roundTrips - roundTripsBefore }

  /// The server, and the end of the certificate that it has shown, seconds since 1970. `nil` without TLS.
  public var certificate: (server: ServerAddress, end: Int64)? { link.certificateEnd.map { (link.address, $0) } }

  init(_ link: ServerLink, generation: Int, isTransaction: Bool) {
    self.link = link
    self.generation = generation
    self.isTransaction = isTransaction
    self.roundTripsBefore = link.roundTrips
  }

  /// Runs statements one after the other in a single round trip.
  ///
  /// The first failure fails the whole run: what comes after it is not carried out. Outside of a transaction the
  /// statements of a run are one transaction of their own.
  /// - Parameters:
  ///   - statements: each one SQL statement; transaction control is refused.
  ///   - limit: limit for this run, if it is below the usual ones. A server that is silent for longer counts as lost.
  /// - Returns: a result for each statement.
  @discardableResult
  public func run(
    _ statements: [PostgreSQLStatement], within limit: Duration? = nil
  ) throws(StoreError) -> [PostgreSQLRows] {
    for statement in statements { try TransactionControl.refuse(in: statement.sql) }
    guard !statements.isEmpty else { return [] }
    return try attempt { () throws(StoreError) in
      guard self.isTransaction, !self.hasBegun else {
        return try self.link.run(statements, within: limit, repeating: !self.isTransaction)
      }
      self.hasBegun = true
      let begin = PostgreSQLStatement("BEGIN", isPrepared: false)
      return Array(try self.link.run([begin] + statements, within: limit, repeating: true).dropFirst())
    }
  }

  /// Runs one statement in a round trip of its own.
  @discardableResult
  public func run(_ sql: String, _ values: [PostgreSQLValue] = []) throws(StoreError) -> PostgreSQLRows {
    let results = try run([PostgreSQLStatement(sql, values)])
    guard let rows = results.first else { throw StoreError(.unexpectedResult, "a statement has no result") }
    return rows
  }

  /// Runs several statements without values, separated by semicolons, in a round trip of its own: for schemas. Outside
  /// of a transaction they are one of their own.
  public func script(_ sql: String) throws(StoreError) {
    try TransactionControl.refuse(in: sql)
    try attempt { () throws(StoreError) in
      if self.isTransaction, !self.hasBegun {
        self.hasBegun = true
        _ = try self.link.control("BEGIN")
      }
      try self.link.script(sql)
    }
  }

  /// A password as the server stores it (SCRAM-SHA-256), for `ALTER ROLE … PASSWORD`: the server never sees the password.
  public func encrypted(password: String, of role: String) throws(StoreError) -> String {
    try attempt { () throws(StoreError) in try self.link.encrypted(password: password, of: role) }
  }

  /// Has the connection replaced when the body returns: the next body meets a new
  /// ``PostgreSQLStatus/generation``. What the body did outside of a transaction stands.
  public func replace() {
    link.isBroken = true
  }

  private func attempt<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
    guard !isOver else { throw StoreError(.misuse, "a session was used after the end of its body") }
    if let failure { throw failure }
    do throws(StoreError) {
      return try body()
    } catch {
      let isCanceled = error.code == .statementTimeout && link.closing.isCanceling
      let error = isCanceled ? StoreError(.closed, "the connection was closed") : error
      if isTransaction { failure = error }
      throw error
    }
  }

  // MARK: End

  func end(succeeded: Bool) throws(StoreError) {
    defer {
      isOver = true
      // A server that is still inside a transaction is not where this side thinks.
      if !link.isBroken, !link.isIdle { link.isBroken = true }
    }
    guard hasBegun, !link.isBroken else {
      if let failure, succeeded { throw failure }
      return
    }
    guard succeeded, failure == nil else {
      try rollBack()
      if let failure, succeeded { throw failure }
      return
    }
    try commit()
  }

  private func rollBack() throws(StoreError) {
    do throws(StoreError) {
      _ = try link.control("ROLLBACK")
    } catch {
      // The end of the connection rolls back as well.
      link.isBroken = true
    }
  }

  private func commit() throws(StoreError) {
    // As long as it has not been sent, its fate is known.
    guard link.isAlive() else {
      link.isBroken = true
      throw link.lost()
    }
    var tag = ""
    do throws(StoreError) {
      tag = try link.control("COMMIT")
    } catch {
      guard link.isBroken else { throw error }
      var loss = StoreError(.connectionLost, error.message, sqlState: error.sqlState)
      loss.isCommitUnknown = true
      throw loss
    }
    guard tag == "COMMIT" else {
      throw StoreError(.serialization, "the server rolled the transaction back")
    }
  }
}
