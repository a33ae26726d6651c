import CountersignAMQP
import CountersignTelemetry
import RecordStore

/// Stores batches, and determines the cause when one cannot be stored.
///
/// A faulty message is given up, and the others are stored without it. A faulty database affects every message, so none
/// is given up: the batch waits, no other is taken, and readiness reports the cause. The broker keeps the messages.
struct BatchCommit<Work: BatchQueue>: Sendable {
  let work: Work
  let context: EngineContext
  /// Whether the broker still waits for a delivery to be settled.
  let isLive: @Sendable (DeliveryTag) -> Bool
  /// Retry delays of a failed transaction: doubled each time, up to the upper bound.
  let retryDelays: ClosedRange<Duration>

  /// Outcome of a batch.
  struct Committed: Sendable {
    var conclusions: [Conclusion?]
    var messages: [StoredMessage] = []
    /// Deliveries that have a stage before their transaction.
    var staged: [Staged<Work.Prepared>] = []
  }

  private struct Progress {
    let deliveries: [Delivery]
    /// `nil` for a delivery that needs no transaction.
    var prepared: [Work.Prepared?]
    /// Whether it is one delivery after its stage, which is not repeated.
    var isStaged = false
    /// Time of its preparation. Its transactions take place at that time.
    var now: UnixTime
    var committed: Committed
    /// Messages whose transaction is not committed yet.
    var left: [Int] = []
    /// Messages that only read, after all transactions.
    var looks: [Int] = []
  }

  /// Rounds to wait for a failure that may be one message's or the store's, 20 s at the usual delays, before the store
  /// is probed.
  static var maxDoubtfulRounds: Int { 23 }

  /// Tries until all messages are stored or given up.
  func commit(_ deliveries: [Delivery], isCrashed: Bool) async -> Committed? {
    await commit(begin(deliveries, isCrashed: isCrashed))
  }

  /// The same for a delivery after its stage.
  func commit(_ delivery: Delivery, _ prepared: Work.Prepared) async -> Committed? {
    await commit(
      Progress(
        deliveries: [delivery], prepared: [prepared], isStaged: true, now: context.clock.now(),
        committed: Committed(conclusions: [nil]), left: [0]))
  }

  private func commit(_ begun: Progress) async -> Committed? {
    var progress = begun
    var delay = retryDelays.lowerBound
    var doubtfulRounds = 0
    while !progress.left.isEmpty {
      guard progress.deliveries.contains(where: { isLive($0.tag) }) else {
        context.health.succeeded(work.queue)
        return nil
      }
      guard let error = await advance(&progress) else {
        context.health.succeeded(work.queue)
        break
      }
      if error.code == .closed { return nil }
      doubtfulRounds = error.fault == .doubtful ? doubtfulRounds + 1 : 0
      if doubtfulRounds >= Self.maxDoubtfulRounds, await takesWrites() {
        for index in progress.left { giveUp(index, error, &progress) }
        context.health.succeeded(work.queue)
        break
      }
      context.health.failed(error, work.queue)
      // Of a store that fails altogether its health tells.
      if !error.isOutage {
        context.logger.error(
          "a batch cannot be stored and is tried again", failure(error, progress.left.count, retryIn: delay))
      }
      await publishCommitted(&progress)
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
      deliveries: deliveries, prepared: Array(repeating: nil, count: deliveries.count), now: now,
      committed: Committed(conclusions: Array(repeating: nil, count: deliveries.count)))
    for (index, delivery) in deliveries.enumerated() {
      if isCrashed {
        progress.committed.conclusions[index] = work.crashed(delivery, at: now)
      } else {
        prepare(index, &progress, isNew: true)
      }
    }
    return progress
  }

  /// Commands have aged while the store failed: they are judged, and begin, at the time of the next attempt.
  private func prepareAgain(_ progress: inout Progress) {
    progress.now = context.clock.now()
    if progress.isStaged { return }
    let again = (progress.left + progress.looks).sorted()
    (progress.left, progress.looks) = ([], [])
    for index in again { prepare(index, &progress, isNew: false) }
  }

  private func prepare(_ index: Int, _ progress: inout Progress, isNew: Bool) {
    do throws(Conclusion) {
      let prepared = try work.prepare(progress.deliveries[index], at: progress.now, isNew: isNew)
      progress.prepared[index] = prepared
      if let stage = work.stage(of: prepared) {
        progress.committed.staged.append(Staged(index: index, stage: stage, prepared: prepared))
      } else if work.isLook(prepared) {
        progress.looks.append(index)
      } else {
        progress.left.append(index)
      }
    } catch {
      progress.prepared[index] = nil
      progress.committed.conclusions[index] = error
    }
  }

  // MARK: Storing

  /// Stores the rest of a batch, as far as that is possible now.
  private func advance(_ progress: inout Progress) async -> StoreError? {
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
  private func advanceOneByOne(_ progress: inout Progress) async -> StoreError? {
    var suspects: [Int] = []
    var guilty: [Int] = []
    var last: StoreError?
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

  private func advance(_ indices: [Int], _ progress: inout Progress) async -> StoreError? {
    let committed: Committed
    do throws(StoreError) {
      committed = try await write(indices.compactMap { progress.prepared[$0] }, at: progress.now)
    } catch {
      return error
    }
    for (index, conclusion) in zip(indices, committed.conclusions) {
      progress.committed.conclusions[index] = conclusion
    }
    progress.committed.messages += committed.messages
    return nil
  }

  /// Publishes what a part of the batch has sent: it must not wait for the rest.
  private func publishCommitted(_ progress: inout Progress) async {
    let messages = progress.committed.messages
    guard !messages.isEmpty else { return }
    progress.committed.messages = []
    do {
      _ = try await context.outbox.publish(messages)
    } catch {
      // They are in the outbox, and published after the next start.
      context.logger.warning("publishing was ended", [.error: error.description])
    }
  }

  private func giveUp(_ index: Int, _ error: StoreError?, _ progress: inout Progress) {
    context.logger.error("a message cannot be stored and is given up", failure(error, 1, retryIn: nil))
    guard let request = progress.prepared[index] else { return }
    progress.committed.conclusions[index] = work.giveUp(request, at: progress.now)
  }

  private func failure(_ error: StoreError?, _ count: Int, retryIn: Duration?) -> LogMetadata {
    [.queue: work.queue, .count: count, .error: error?.description, .retryIn: retryIn]
  }

  /// Whether the store accepts the rows that every message writes, so that a persistent failure is the messages' fault.
  private func takesWrites() async -> Bool {
    do throws(StoreError) {
      try await context.store.probe()
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
  private func look(_ progress: Progress) async -> Committed? {
    let now = progress.now
    var committed = progress.committed
    let looks = progress.looks.compactMap { index in progress.prepared[index].map { (index, $0) } }
    guard !looks.isEmpty else { return committed }
    do throws(StoreError) {
      for (index, conclusion) in try await look(looks, at: now) { committed.conclusions[index] = conclusion }
    } catch {
      if error.code == .closed { return nil }
      for (index, request) in looks { committed.conclusions[index] = refuse(request, at: now) }
      context.logger.error("what was asked cannot be read", failure(error, looks.count, retryIn: nil))
    }
    return committed
  }

  /// The request is valid, so it is not dead-lettered.
  private func refuse(_ look: Work.Prepared, at now: UnixTime) -> Conclusion {
    var conclusion = work.giveUp(look, at: now)
    conclusion.dead = nil
    return conclusion
  }

  /// Of several requests each is executed by itself when one of them cannot be read.
  private func look(
    _ looks: [(Int, Work.Prepared)], at now: UnixTime
  ) async throws(StoreError) -> [(Int, Conclusion)] {
    do throws(StoreError) {
      var set = try await context.store.read(try load(looks.map(\.1), at: now), at: now)
      var conclusions: [(Int, Conclusion)] = []
      for (index, request) in looks { conclusions.append((index, try work.process(request, in: &set))) }
      return conclusions
    } catch {
      guard error.fault == .content else { throw error }
      guard looks.count > 1 else {
        context.logger.error("what was asked cannot be read", failure(error, 1, retryIn: nil))
        return looks.map { ($0, refuse($1, at: now)) }
      }
    }
    var conclusions: [(Int, Conclusion)] = []
    for one in looks { conclusions += try await look([one], at: now) }
    return conclusions
  }

  // MARK: Transaction

  /// Keys that some deliveries look up, in two rounds.
  private func load(_ requests: [Work.Prepared], at now: UnixTime) throws(StoreError) -> StoreLoad {
    var keys = StoreKeys()
    for request in requests { try work.addKeys(of: request, to: &keys, at: now) }
    return StoreLoad(keys) { [work] set throws(StoreError) in
      var more = StoreKeys()
      for request in requests { try work.addMoreKeys(of: request, to: &more, from: set) }
      return more
    }
  }

  /// Loads, applies and stores some deliveries in one transaction, and counts it once it is committed.
  private func write(
    _ requests: [Work.Prepared], at now: UnixTime
  ) async throws(StoreError) -> Committed {
    let load = try load(requests, at: now)
    let settlement = context.outbox.takeSettlement()
    do throws(StoreError) {
      let (conclusions, messages) = try await context.transact(load, at: now, settling: settlement) {
        [work] set throws(StoreError) in
        var conclusions: [Conclusion?] = []
        conclusions.reserveCapacity(requests.count)
        for request in requests { conclusions.append(try work.process(request, in: &set)) }
        return conclusions
      }
      return Committed(conclusions: conclusions, messages: messages)
    } catch {
      context.outbox.note(settlement)
      throw error
    }
  }
}

/// A delivery that has a stage before its transaction.
struct Staged<Prepared: Sendable>: Sendable {
  /// Index of the delivery in its batch.
  var index: Int
  var stage: CommandStage
  var prepared: Prepared
}
