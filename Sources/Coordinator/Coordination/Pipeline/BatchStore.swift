import CountersignAMQP
import CountersignTelemetry
import SQLite

/// Stores batches, and finds out whose fault it is when one cannot be stored.
///
/// A fault that lies in a message is its own: it is given up, and the others are stored without it. What lies in the database meets
/// every message, so nobody is given up: the batch waits, no other is taken, and readiness tells why. The broker keeps the messages.
struct BatchStore<Work: BatchWork>: Sendable {
  let work: Work
  let database: Database
  let outbox: Outbox
  let clock: any WallClock
  let retention: Duration
  let conversions: ConversionKeeper
  let health: StorageHealth
  let metrics: CoordinatorMetrics
  let logger: Logger
  /// The wait before a transaction that failed is tried again: doubled each time, up to the upper bound.
  let retryDelays: ClosedRange<Duration>

  /// Outcome of a batch.
  struct Committed: Sendable {
    var conclusions: [Conclusion?]
    var row: OutboxRow?
    var changes = ConversionChanges()
  }

  /// Progress of a batch.
  private struct Progress {
    let deliveries: [Delivery]
    var prepared: [Preparation<Work.Prepared>]
    /// When it was prepared; its transactions take place then.
    var now: UnixTime
    var committed: Committed
    /// Messages that have a transaction that is not committed.
    var left: [Int]
  }

  /// A failure that may be one message's or the store's is waited for so often, 20 s by the delays of every day, before the store is asked.
  static var maxDoubtfulRounds: Int { 10 }

  /// Tries until all is stored or given up.
  /// - Returns: `nil` when the process is to end first; what was not acknowledged is then delivered again.
  func commit(_ deliveries: [Delivery], isCrashed: Bool) async -> Committed? {
    var progress = begin(deliveries, isCrashed: isCrashed)
    var delay = retryDelays.lowerBound
    var doubtfulRounds = 0
    while !progress.left.isEmpty {
      guard let error = await advance(&progress) else {
        health.succeeded(work.queue)
        break
      }
      if error.code == .closed { return nil }
      doubtfulRounds = error.fault == .doubtful ? doubtfulRounds + 1 : 0
      if doubtfulRounds >= Self.maxDoubtfulRounds, await takesWrites(at: clock.now()) {
        for index in progress.left { giveUp(index, error, &progress) }
        health.succeeded(work.queue)
        break
      }
      health.failed(error, work.queue)
      logger.error(
        "a batch cannot be stored and is tried again", failure(error, progress.left.count, retryIn: delay))
      do { try await Task.sleep(for: delay) } catch { return nil }
      delay = min(delay * 2, retryDelays.upperBound)
      prepareAgain(&progress)
    }
    return await look(progress)
  }

  // MARK: Preparation

  private func begin(_ deliveries: [Delivery], isCrashed: Bool) -> Progress {
    let now = clock.now()
    var progress = Progress(
      deliveries: deliveries, prepared: [], now: now,
      committed: Committed(conclusions: deliveries.map { _ in nil }), left: [])
    for (index, delivery) in deliveries.enumerated() {
      progress.prepared.append(
        isCrashed ? .done(work.crashed(delivery, at: now)) : work.prepare(delivery, at: now))
      note(index, &progress)
    }
    return progress
  }

  /// While the store failed, commands have aged: they are judged, and begin, at the time of the next try.
  private func prepareAgain(_ progress: inout Progress) {
    progress.now = clock.now()
    let left = Set(progress.left)
    progress.left = []
    for (index, delivery) in progress.deliveries.enumerated() {
      switch progress.prepared[index] {
      case .done: continue
      case .transaction: guard left.contains(index) else { continue }
      case .look: break
      }
      progress.prepared[index] = work.prepareAgain(delivery, at: progress.now)
      note(index, &progress)
    }
  }

  private func note(_ index: Int, _ progress: inout Progress) {
    switch progress.prepared[index] {
    case .transaction: progress.left.append(index)
    case .look: break
    case .done(let conclusion): progress.committed.conclusions[index] = conclusion
    }
  }

  // MARK: Storing

  /// Stores what is left of a batch, as far as that is possible now.
  /// - Returns: why something is still left; `nil` when nothing is.
  private func advance(_ progress: inout Progress) async -> DatabaseError? {
    guard let error = await advance(progress.left, &progress) else {
      progress.left = []
      return nil
    }
    guard error.fault != .store else { return error }
    guard progress.left.count > 1 || error.fault == .content else { return error }
    if progress.left.count > 1 {
      logger.error(
        "a batch cannot be stored and is taken apart", failure(error, progress.left.count, retryIn: nil))
    }
    return await advanceOneByOne(&progress)
  }

  /// One of them makes the transaction fail: the others must not suffer for it.
  ///
  /// A failure that may be the store's is held against a message only when one behind it can be stored, and it fails once more.
  private func advanceOneByOne(_ progress: inout Progress) async -> DatabaseError? {
    var suspects: [Int] = []
    var guilty: [Int] = []
    var last: DatabaseError?
    let all = progress.left
    for (place, index) in all.enumerated() {
      let error = await advance([index], &progress)
      switch error?.fault {
      case nil:
        guilty += suspects
        suspects = []
      case .content: giveUp(index, error, &progress)
      case .doubtful: suspects.append(index)
      case .store:
        progress.left = guilty + suspects + all[place...]
        return error
      }
      if error?.fault == .doubtful { last = error }
    }
    for (place, index) in guilty.enumerated() {
      guard let error = await advance([index], &progress) else { continue }
      if error.fault == .store {
        progress.left = guilty[place...] + suspects
        return error
      }
      giveUp(index, error, &progress)
    }
    progress.left = suspects
    return suspects.isEmpty ? nil : last
  }

  /// Stores some in one transaction.
  /// - Returns: why they are not.
  private func advance(_ indices: [Int], _ progress: inout Progress) async -> DatabaseError? {
    let committed: Committed
    do throws(DatabaseError) {
      committed = try await write(indices.map { progress.prepared[$0] }, at: progress.now)
    } catch {
      return error
    }
    for (index, conclusion) in zip(indices, committed.conclusions) {
      progress.committed.conclusions[index] = conclusion
    }
    guard let row = committed.row else { return nil }
    // Rows are published one by one here; this is the way of a fault, not of every day.
    if let earlier = progress.committed.row { await publishAlone(earlier) }
    progress.committed.row = row
    return nil
  }

  private func publishAlone(_ row: OutboxRow) async {
    metrics.outboxMessages.add(Double(row.messages.count))
    do {
      _ = try await outbox.publish(row, with: [])
    } catch {
      // It is in the outbox, and published after the next start.
      logger.warning("publishing was ended", [.error: error.description])
    }
  }

  private func giveUp(_ index: Int, _ error: DatabaseError?, _ progress: inout Progress) {
    logger.error("a message cannot be stored and is given up", failure(error, 1, retryIn: nil))
    guard case .transaction(let request) = progress.prepared[index] else { return }
    progress.committed.conclusions[index] = work.giveUp(request, at: progress.now)
  }

  private func failure(_ error: DatabaseError?, _ count: Int, retryIn: Duration?) -> LogMetadata {
    [.queue: work.queue, .count: count, .error: error?.description, .retryIn: retryIn]
  }

  /// Whether the store takes what every message writes, so that a failure that stays is the messages'.
  private func takesWrites(at now: UnixTime) async -> Bool {
    do throws(DatabaseError) {
      try await database.write { [retention] session throws(DatabaseError) -> Void in
        for table in ["verification", "usage", "outbox"] {
          _ = try session.first("SELECT 1 FROM \(table)") { row throws(DatabaseError) in row.int(0) }
        }
        let probe = "countersign-probe"
        try CoordinatorTransaction(session, at: now, retention: retention)
          .record(RecordedReply(fingerprint: [], type: "", body: []), toMessage: probe)
        try session.execute("DELETE FROM inbox WHERE key = ?", [.text(probe)])
      }
      return true
    } catch {
      return false
    }
  }

  // MARK: Looks

  /// Carries out what only looks, on a connection that waits for no writer.
  ///
  /// A look changes nothing, so one that fails is answered at once, and asked again by whoever needs it: what the batch has committed must
  /// not wait for it.
  /// - Returns: `nil` when the process is to end first.
  private func look(_ progress: Progress) async -> Committed? {
    let (prepared, now) = (progress.prepared, progress.now)
    var committed = progress.committed
    guard prepared.contains(where: { if case .look = $0 { true } else { false } }) else { return committed }
    do throws(DatabaseError) {
      for (index, conclusion) in try await looks(prepared, at: now) { committed.conclusions[index] = conclusion }
    } catch {
      if error.code == .closed { return nil }
      let unanswered = refuseLooks(prepared, at: now)
      for (index, conclusion) in unanswered { committed.conclusions[index] = conclusion }
      logger.error("what was asked cannot be read", failure(error, unanswered.count, retryIn: nil))
    }
    return committed
  }

  /// Nothing is wrong with them, so none becomes a dead letter.
  private func refuseLooks(_ prepared: [Preparation<Work.Prepared>], at now: UnixTime) -> [(Int, Conclusion)] {
    prepared.enumerated().compactMap { index, item in
      guard case .look(let request) = item else { return nil }
      var conclusion = work.giveUp(request, at: now)
      conclusion.dead = nil
      return (index, conclusion)
    }
  }

  private func looks(
    _ prepared: [Preparation<Work.Prepared>], at now: UnixTime
  ) async throws(DatabaseError) -> [(Int, Conclusion)] {
    try await database.read { [work, retention] session throws(DatabaseError) in
      let transaction = CoordinatorTransaction(session, at: now, retention: retention)
      var conclusions: [(Int, Conclusion)] = []
      for (index, item) in prepared.enumerated() {
        guard case .look(let request) = item else { continue }
        do throws(DatabaseError) {
          conclusions.append((index, try work.process(request, in: transaction)))
        } catch {
          guard error.fault == .content else { throw error }
          conclusions.append((index, work.giveUp(request, at: now)))
        }
      }
      return conclusions
    }
  }

  // MARK: Transaction

  private func write(
    _ prepared: [Preparation<Work.Prepared>], at now: UnixTime
  ) async throws(DatabaseError) -> Committed {
    let confirmed = outbox.takeConfirmed()
    do throws(DatabaseError) {
      let committed = try await database.write { [work, retention] session throws(DatabaseError) in
        try Outbox.delete(confirmed, in: session)
        let transaction = CoordinatorTransaction(session, at: now, retention: retention)
        var conclusions: [Conclusion?] = []
        for item in prepared {
          guard case .transaction(let request) = item else {
            conclusions.append(nil)
            continue
          }
          conclusions.append(try work.process(request, in: transaction))
        }
        let row = try transaction.flush()
        return Committed(conclusions: conclusions, row: row, changes: transaction.changes)
      }
      conversions.take(committed.changes, at: now)
      return committed
    } catch {
      outbox.restore(confirmed)
      throw error
    }
  }
}
