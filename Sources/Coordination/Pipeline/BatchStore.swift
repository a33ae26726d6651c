import AMQP
import Database
import Telemetry

/// Stores batches, and finds out whose fault it is when one cannot be stored.
///
/// What lies in a message is its own misfortune: it is given up, and the others are stored without it. What lies in the database meets
/// every message, so nobody is given up: the batch waits, no other is taken, and readiness tells why. The broker keeps the messages.
struct BatchStore<Work: BatchWork>: Sendable {
  let work: Work
  let database: Database
  let outbox: Outbox
  let retention: Duration
  let conversions: ConversionKeeper
  let health: StorageHealth
  let metrics: CoordinatorMetrics
  let logger: Logger
  /// The wait before a transaction that failed is tried again: doubled each time, up to the upper bound.
  let retryDelays: ClosedRange<Duration>

  /// What became of a batch.
  struct Committed: Sendable {
    var conclusions: [Conclusion?]
    var row: OutboxRow?
    var changes = ConversionChanges()
  }

  /// What remains to be stored of a batch, and what is.
  private struct Progress {
    var committed: Committed
    var left: [Int]
  }

  /// Tries until all is stored or given up.
  /// - Returns: `nil` when the process is to end first; what was not acknowledged is then delivered again.
  func commit(_ prepared: [Preparation<Work.Prepared>], at now: UnixTime) async -> Committed? {
    var progress = Progress(
      committed: Committed(conclusions: prepared.map { _ in nil }), left: Array(prepared.indices))
    var delay = retryDelays.lowerBound
    while true {
      guard let error = await advance(&progress, prepared, at: now) else {
        health.succeeded(work.queue)
        return await look(prepared, progress.committed, at: now)
      }
      if error.code == .closed { return nil }
      health.failed(error, work.queue)
      logger.error(
        "a batch cannot be stored and is tried again", failure(error, progress.left.count, retryIn: delay))
      do { try await Task.sleep(for: delay) } catch { return nil }
      delay = min(delay * 2, retryDelays.upperBound)
    }
  }

  /// Stores what is left of a batch, as far as that is possible now.
  /// - Returns: why something is still left; `nil` when nothing is.
  private func advance(
    _ progress: inout Progress, _ prepared: [Preparation<Work.Prepared>], at now: UnixTime
  ) async -> DatabaseError? {
    do throws(DatabaseError) {
      let committed = try await write(progress.left.map { prepared[$0] }, at: now)
      await take(committed, progress.left, &progress)
      return nil
    } catch {
      guard error.fault != .store else { return error }
      guard progress.left.count > 1 || error.fault == .content else { return error }
      if progress.left.count > 1 {
        logger.error(
          "a batch cannot be stored and is taken apart", failure(error, progress.left.count, retryIn: nil))
      }
      return await advanceOneByOne(&progress, prepared, at: now)
    }
  }

  /// One of them makes the transaction fail: the others must not suffer for it.
  ///
  /// A failure that may be the store's is held against a message only when one behind it can be stored, and it fails once more.
  private func advanceOneByOne(
    _ progress: inout Progress, _ prepared: [Preparation<Work.Prepared>], at now: UnixTime
  ) async -> DatabaseError? {
    var suspects: [Int] = []
    var guilty: [Int] = []
    var last: DatabaseError?
    let all = progress.left
    for (place, index) in all.enumerated() {
      let error = await advance(index, &progress, prepared, at: now)
      switch error?.fault {
      case nil:
        guilty += suspects
        suspects = []
      case .content: giveUp(index, error, prepared, &progress, at: now)
      case .doubtful: suspects.append(index)
      case .store:
        progress.left = guilty + suspects + all[place...]
        return error
      }
      if error?.fault == .doubtful { last = error }
    }
    for (place, index) in guilty.enumerated() {
      guard let error = await advance(index, &progress, prepared, at: now) else { continue }
      if error.fault == .store {
        progress.left = guilty[place...] + suspects
        return error
      }
      giveUp(index, error, prepared, &progress, at: now)
    }
    progress.left = suspects
    return suspects.isEmpty ? nil : last
  }

  /// Stores one alone.
  /// - Returns: why it is not.
  private func advance(
    _ index: Int, _ progress: inout Progress, _ prepared: [Preparation<Work.Prepared>], at now: UnixTime
  ) async -> DatabaseError? {
    do throws(DatabaseError) {
      await take(try await write([prepared[index]], at: now), [index], &progress)
      return nil
    } catch {
      return error
    }
  }

  private func take(_ committed: Committed, _ indices: [Int], _ progress: inout Progress) async {
    for (index, conclusion) in zip(indices, committed.conclusions) {
      progress.committed.conclusions[index] = conclusion
    }
    progress.left = []
    guard let row = committed.row else { return }
    // Rows are published one by one here; this is the way of a fault, not of every day.
    if let earlier = progress.committed.row { await publishAlone(earlier) }
    progress.committed.row = row
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

  private func giveUp(
    _ index: Int, _ error: DatabaseError?, _ prepared: [Preparation<Work.Prepared>], _ progress: inout Progress,
    at now: UnixTime
  ) {
    logger.error("a message cannot be stored and is given up", failure(error, 1, retryIn: nil))
    guard case .transaction(let request) = prepared[index] else { return }
    progress.committed.conclusions[index] = work.giveUp(request, at: now)
  }

  private func failure(_ error: DatabaseError?, _ count: Int, retryIn: Duration?) -> LogMetadata {
    [.queue: work.queue, .count: count, .error: error?.description, .retryIn: retryIn]
  }

  // MARK: Looks

  /// Carries out what only looks, on a connection that waits for no writer.
  ///
  /// A look changes nothing, so one that fails is answered at once, and asked again by whoever needs it: what the batch has committed must
  /// not wait for it.
  /// - Returns: `nil` when the process is to end first.
  private func look(
    _ prepared: [Preparation<Work.Prepared>], _ committed: Committed, at now: UnixTime
  ) async -> Committed? {
    guard prepared.contains(where: { if case .look = $0 { true } else { false } }) else { return committed }
    var committed = committed
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
    let needsTransaction = prepared.contains { if case .transaction = $0 { true } else { false } }
    guard needsTransaction || !confirmed.isEmpty else {
      return Committed(conclusions: prepared.map { _ in nil }, row: nil)
    }
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
