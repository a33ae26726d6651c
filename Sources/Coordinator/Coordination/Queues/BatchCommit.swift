import CountersignAMQP
import CountersignTelemetry
import SQLite

/// Stores batches, and determines the cause when one cannot be stored.
///
/// A faulty message is given up, and the others are stored without it. A faulty database affects every message, so none
/// is given up: the batch waits, no other is taken, and readiness reports the cause. The broker keeps the messages.
struct BatchCommit<Work: BatchQueue>: Sendable {
  let work: Work
  let context: QueueContext
  /// Retry delays of a failed transaction: doubled each time, up to the upper bound.
  let retryDelays: ClosedRange<Duration>

  /// Outcome of a batch.
  struct Committed: Sendable {
    var conclusions: [Conclusion?]
    var row: OutboxRow?
  }

  /// Outcome of one transaction. Its counts and changes are taken over once it is committed.
  private struct Written: Sendable {
    var committed: Committed
    var changes: ConversionChanges
    var counts: TransactionCounts
  }

  /// Progress of a batch.
  private struct Progress {
    let deliveries: [Delivery]
    var prepared: [PreparedDelivery<Work.Prepared>]
    /// Time of its preparation; its transactions take place at that time.
    var now: UnixTime
    var committed: Committed
    /// Messages whose transaction is not committed yet.
    var left: [Int]
  }

  /// Rounds to wait for a failure that may be one message's or the store's, 20 s at the usual delays, before the store
  /// is probed.
  static var maxDoubtfulRounds: Int { 10 }

  /// Tries until all messages are stored or given up.
  /// - Returns: `nil` when the process is to end first; unacknowledged deliveries then arrive again.
  func commit(_ deliveries: [Delivery], isCrashed: Bool) async -> Committed? {
    var progress = begin(deliveries, isCrashed: isCrashed)
    var delay = retryDelays.lowerBound
    var doubtfulRounds = 0
    while !progress.left.isEmpty {
      guard let error = await advance(&progress) else {
        context.health.succeeded(work.queue)
        break
      }
      if error.code == .closed { return nil }
      doubtfulRounds = error.fault == .doubtful ? doubtfulRounds + 1 : 0
      if doubtfulRounds >= Self.maxDoubtfulRounds, await takesWrites(at: context.clock.now()) {
        for index in progress.left { giveUp(index, error, &progress) }
        context.health.succeeded(work.queue)
        break
      }
      context.health.failed(error, work.queue)
      context.logger.error(
        "a batch cannot be stored and is tried again", failure(error, progress.left.count, retryIn: delay))
      do { try await Task.sleep(for: delay) } catch { return nil }
      delay = min(delay * 2, retryDelays.upperBound)
      prepareAgain(&progress)
    }
    return await look(progress)
  }

  // MARK: Preparation

  private func begin(_ deliveries: [Delivery], isCrashed: Bool) -> Progress {
    let now = context.clock.now()
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

  /// Commands have aged while the store failed: they are judged, and begin, at the time of the next attempt.
  private func prepareAgain(_ progress: inout Progress) {
    progress.now = context.clock.now()
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

  /// Stores the rest of a batch, as far as that is possible now.
  /// - Returns: the reason that messages are left; `nil` when none is.
  private func advance(_ progress: inout Progress) async -> DatabaseError? {
    guard let error = await advance(progress.left, &progress) else {
      progress.left = []
      return nil
    }
    guard error.fault != .store else { return error }
    guard progress.left.count > 1 || error.fault == .content else { return error }
    if progress.left.count > 1 {
      context.logger.error(
        "a batch cannot be stored and is taken apart", failure(error, progress.left.count, retryIn: nil))
    }
    return await advanceOneByOne(&progress)
  }

  /// Stores messages one by one when one of them makes the transaction fail: the others must not suffer for it.
  ///
  /// A failure that may be the store's is held against a message only when a later one can be stored, and it fails once
  /// more.
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

  /// Stores messages in one transaction.
  /// - Returns: the reason that they are not stored.
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
    // Rows are published one by one here: this path is taken only after a fault.
    if let earlier = progress.committed.row { await publishAlone(earlier) }
    progress.committed.row = row
    return nil
  }

  private func publishAlone(_ row: OutboxRow) async {
    context.metrics.outboxMessages.add(Double(row.messages.count))
    do {
      _ = try await context.outbox.publish(row, with: [])
    } catch {
      // It is in the outbox, and published after the next start.
      context.logger.warning("publishing was ended", [.error: error.description])
    }
  }

  private func giveUp(_ index: Int, _ error: DatabaseError?, _ progress: inout Progress) {
    context.logger.error("a message cannot be stored and is given up", failure(error, 1, retryIn: nil))
    guard case .transaction(let request) = progress.prepared[index] else { return }
    progress.committed.conclusions[index] = work.giveUp(request, at: progress.now)
  }

  private func failure(_ error: DatabaseError?, _ count: Int, retryIn: Duration?) -> LogMetadata {
    [.queue: work.queue, .count: count, .error: error?.description, .retryIn: retryIn]
  }

  /// Whether the store accepts the rows that every message writes, so that a persistent failure is the messages' fault.
  private func takesWrites(at now: UnixTime) async -> Bool {
    do throws(DatabaseError) {
      try await context.database.write { [retention = context.retention] session throws(DatabaseError) -> Void in
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

  /// Executes read-only requests on a connection that waits for no writer.
  ///
  /// A read changes nothing, so a failed one is answered at once, and repeated by its requester: the committed batch
  /// must not wait for it.
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
      context.logger.error("what was asked cannot be read", failure(error, unanswered.count, retryIn: nil))
    }
    return committed
  }

  /// The requests are valid, so none becomes a dead letter.
  private func refuseLooks(_ prepared: [PreparedDelivery<Work.Prepared>], at now: UnixTime) -> [(Int, Conclusion)] {
    prepared.enumerated().compactMap { index, item in
      guard case .look(let request) = item else { return nil }
      var conclusion = work.giveUp(request, at: now)
      conclusion.dead = nil
      return (index, conclusion)
    }
  }

  private func looks(
    _ prepared: [PreparedDelivery<Work.Prepared>], at now: UnixTime
  ) async throws(DatabaseError) -> [(Int, Conclusion)] {
    try await context.database.read { [work, retention = context.retention] session throws(DatabaseError) in
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
    _ prepared: [PreparedDelivery<Work.Prepared>], at now: UnixTime
  ) async throws(DatabaseError) -> Committed {
    let confirmed = context.outbox.takeConfirmed()
    do throws(DatabaseError) {
      let written = try await context.database.write {
        [work, retention = context.retention] session throws(DatabaseError) in
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
        return Written(
          committed: Committed(conclusions: conclusions, row: row), changes: transaction.changes,
          counts: transaction.counts)
      }
      context.conversions.take(written.changes, at: now)
      context.metrics.count(written.counts)
      return written.committed
    } catch {
      context.outbox.restore(confirmed)
      throw error
    }
  }
}
