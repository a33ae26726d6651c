import CountersignTelemetry

/// One transaction of the writer, with the bodies that share it.
struct Group {
  private let connection: SQLiteConnection
  private var broken: StoreError?
  private(set) var outcomes: [PendingBody.Outcome] = []

  init(connection: SQLiteConnection) {
    self.connection = connection
  }

  /// Always at least one.
  mutating func run(_ bodies: ArraySlice<PendingBody>, until end: ContinuousClock.Instant) {
    outcomes.reserveCapacity(bodies.count)
    for body in bodies {
      // The first body needs no savepoint: when it fails, there is nothing else to undo, and the others get a
      // transaction of their own.
      let isFirst = outcomes.isEmpty
      let needsSavepoint = !isFirst && body.needsSavepoint
      let outcome = needsSavepoint ? runInSavepoint(body) : body.run(Session(connection: connection))
      outcomes.append(outcome)
      if broken == nil, !connection.isInTransaction { broken = lost(through: outcome.error) }
      if broken != nil { return }
      if isFirst, outcome.error != nil, body.needsSavepoint || bodies.count == 1 { return connection.rollBackIfOpen() }
      if ContinuousClock.now >= end { break }
    }
  }

  func commit() -> StoreError? {
    if let broken {
      connection.rollBackIfOpen()
      return broken
    }
    // The first body failed and was undone.
    guard connection.isInTransaction else { return nil }
    do {
      try connection.run("COMMIT")
      return nil
    } catch {
      connection.rollBackIfOpen()
      return error
    }
  }

  /// Error for the other bodies if one of them lost the shared transaction: circumstances that concern all are named,
  /// that one body's mistake is not.
  private func lost(through error: StoreError?) -> StoreError {
    if let error, error.isRetriable || error.code == .damaged { return error }
    return StoreError(.rolledBack, "another body ended the transaction of its group; this one's changes are undone")
  }

  private mutating func runInSavepoint(_ body: PendingBody) -> PendingBody.Outcome {
    do {
      try connection.run("SAVEPOINT body")
    } catch {
      broken = error
      return PendingBody.Outcome(error: error) { _ in body.refuse(error) }
    }
    let outcome = body.run(Session(connection: connection))
    guard connection.isInTransaction else { return outcome }
    do {
      if outcome.error != nil { try connection.run("ROLLBACK TO body") }
      try connection.run("RELEASE body")
    } catch {
      broken = error
    }
    return outcome
  }
}
