import CountersignAMQP
import CountersignTelemetry
import RecordStore
import Synchronization

/// A faulty message is given up, and the others are stored without it. A faulty database affects every message, so none
/// is given up: the batch waits, no other is taken, and readiness reports the cause. The broker keeps the messages.
struct BatchCommit<Work: BatchQueue>: Sendable {
  let work: Work
  let context: EngineContext
  let isLive: @Sendable (DeliveryTag) -> Bool
  /// Doubled each time, up to the upper bound.
  let retryDelays: ClosedRange<Duration>

  /// Loads of a transaction for several messages. One that still misses something then goes alone.
  static var maxRounds: Int { 4 }

  /// Attempts to wait for a failure that may be one message's or the store's, 20 s at the usual delays, before the
  /// store is probed.
  static var maxDoubtfulAttempts: Int { 23 }

  /// - Returns: `nil` when none of them is to be settled: they arrive again.
  func commit(_ begun: Batch<Work.Prepared>) async -> Batch<Work.Prepared>? {
    var batch = begun
    var delay = retryDelays.lowerBound
    var doubtfulAttempts = 0
    while !batch.left.isEmpty {
      guard batch.deliveries.contains(where: { isLive($0.tag) }) else {
        context.health.succeeded(work.queue)
        return nil
      }
      guard let error = await advance(&batch) else {
        context.health.succeeded(work.queue)
        break
      }
      if error.code == .closed { return nil }
      doubtfulAttempts = error.fault == .doubtful ? doubtfulAttempts + 1 : 0
      if doubtfulAttempts >= Self.maxDoubtfulAttempts, await takesWrites() {
        for index in batch.left { giveUp(index, error, &batch) }
        context.health.succeeded(work.queue)
        break
      }
      context.health.failed(error, work.queue)
      // Of a store that fails altogether its health tells.
      if !error.isOutage {
        context.logger.error(
          "a batch cannot be stored and is tried again", failure(error, batch.left.count, retryIn: delay))
      }
      await publishCommitted(&batch)
      do { try await Task.sleep(for: delay) } catch { return nil }
      delay = min(delay * 2, retryDelays.upperBound)
      prepareAgain(&batch)
    }
    return await look(&batch) ? batch : nil
  }

  /// Commands have aged while the store failed: they are judged, and begin, at the time of the next attempt.
  private func prepareAgain(_ batch: inout Batch<Work.Prepared>) {
    batch.now = context.clock.now()
    if batch.isStaged { return }
    for (index, step) in batch.steps.enumerated() {
      switch step {
      case .transaction, .look:
        batch.steps[index] = work.prepare(batch.deliveries[index], at: batch.now, isNew: false)
      case .stage, .end: break
      }
    }
  }

  // MARK: Storing

  private func advance(_ batch: inout Batch<Work.Prepared>) async -> StoreError? {
    let left = batch.left
    guard let error = await write(left, &batch) else {
      let late = batch.left.count
      guard late > 0 else { return nil }
      context.logger.info("messages look up more than a batch does, and go alone", failure(nil, late, retryIn: nil))
      return await advanceOneByOne(&batch)
    }
    guard error.fault != .store else { return error }
    guard left.count > 1 || error.fault == .content else { return error }
    if left.count > 1 {
      context.logger.error("a batch cannot be stored and is taken apart", failure(error, left.count, retryIn: nil))
    }
    return await advanceOneByOne(&batch)
  }

  /// A failure that may be the store's counts against a message only when a later one is stored, and it fails again.
  private func advanceOneByOne(_ batch: inout Batch<Work.Prepared>) async -> StoreError? {
    var suspects: [Int] = []
    var guilty: [Int] = []
    var last: StoreError?
    for index in batch.left {
      let error = await write([index], &batch)
      switch error?.fault {
      case nil:
        guilty += suspects
        suspects = []
      case .content: giveUp(index, error, &batch)
      case .doubtful:
        suspects.append(index)
        last = error
      case .store: return error
      }
    }
    for index in guilty {
      guard let error = await write([index], &batch) else { continue }
      if error.fault == .store { return error }
      giveUp(index, error, &batch)
    }
    return suspects.isEmpty ? nil : last
  }

  /// Publishes what a part of the batch has sent: it must not wait for the rest.
  private func publishCommitted(_ batch: inout Batch<Work.Prepared>) async {
    let messages = batch.messages
    guard !messages.isEmpty else { return }
    batch.messages = []
    await context.publishNow(messages)
  }

  private func giveUp(_ index: Int, _ error: StoreError?, _ batch: inout Batch<Work.Prepared>) {
    context.logger.error("a message cannot be stored and is given up", failure(error, 1, retryIn: nil))
    guard case .transaction(let request) = batch.steps[index] else { return }
    batch.steps[index] = .end(work.giveUp(request, at: batch.now))
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

  /// A read changes nothing, so a failed one is answered at once, and repeated by its requester: the committed batch
  /// must not wait for it.
  /// - Returns: whether there was a store to ask.
  private func look(_ batch: inout Batch<Work.Prepared>) async -> Bool {
    var looks: [(index: Int, request: Work.Prepared)] = []
    for (index, step) in batch.steps.enumerated() {
      if case .look(let request) = step { looks.append((index, request)) }
    }
    guard !looks.isEmpty else { return true }
    let now = batch.now
    do throws(StoreError) {
      let conclusions = try await look(looks.map(\.request), at: now)
      for (look, conclusion) in zip(looks, conclusions) { batch.steps[look.index] = .end(conclusion) }
    } catch {
      if error.code == .closed { return false }
      for look in looks { batch.steps[look.index] = .end(refuse(look.request, at: now)) }
      context.logger.error("what was asked cannot be read", failure(error, looks.count, retryIn: nil))
    }
    return true
  }

  /// The request is valid, so it is not dead-lettered.
  private func refuse(_ look: Work.Prepared, at now: UnixTime) -> Conclusion {
    var conclusion = work.giveUp(look, at: now)
    conclusion.dead = nil
    return conclusion
  }

  /// Of several requests each is executed by itself when one of them cannot be read.
  private func look(_ requests: [Work.Prepared], at now: UnixTime) async throws(StoreError) -> [Conclusion] {
    do throws(StoreError) {
      return try await context.store.read(firstKeys(of: requests, at: now), at: now) {
        [work] set throws(StoreError) in
        var late: Set<Int> = []
        return try Self.process(requests, work, without: &late, in: &set).compactMap(\.self)
      }
    } catch {
      guard error.fault != .store else { throw error }
      guard requests.count > 1 else {
        context.logger.error("what was asked cannot be read", failure(error, 1, retryIn: nil))
        return requests.map { refuse($0, at: now) }
      }
    }
    var conclusions: [Conclusion] = []
    for request in requests { conclusions += try await look([request], at: now) }
    return conclusions
  }

  // MARK: Transaction

  private func firstKeys(of requests: [Work.Prepared], at now: UnixTime) throws(StoreError) -> StoreKeys {
    var keys = StoreKeys()
    for request in requests { try work.addFirstKeys(of: request, to: &keys, at: now) }
    return keys
  }

  /// Runs all requests, also behind one that fails: what one of them misses is loaded with what the others miss.
  /// - Parameter late: requests that are left out. Those that miss something are added.
  private static func process(
    _ requests: [Work.Prepared], _ work: Work, without late: inout Set<Int>, in set: inout WorkingSet
  ) throws(StoreError) -> [Conclusion?] {
    var conclusions: [Conclusion?] = []
    conclusions.reserveCapacity(requests.count)
    var first: StoreError?
    for (index, request) in requests.enumerated() {
      guard !late.contains(index) else {
        conclusions.append(nil)
        continue
      }
      let misses = set.missCount
      do throws(StoreError) {
        conclusions.append(try work.process(request, in: &set))
      } catch {
        first = first ?? error
      }
      if set.missCount != misses { late.insert(index) }
    }
    if let first { throw first }
    return conclusions
  }

  /// Has what a first load leads to loaded before the batch runs: otherwise all of it runs again. An error comes again
  /// with the request's run.
  private static func requireMore(
    _ requests: [Work.Prepared], _ work: Work, in set: WorkingSet
  ) throws(StoreError) {
    guard set.rounds <= 1 else { return }
    var keys = StoreKeys()
    for request in requests {
      do throws(StoreError) { try work.addMoreKeys(of: request, to: &keys, from: set) } catch {}
    }
    try set.require(keys)
  }

  private func write(_ indices: [Int], _ batch: inout Batch<Work.Prepared>) async -> StoreError? {
    let requests = indices.compactMap { index -> Work.Prepared? in
      if case .transaction(let request) = batch.steps[index] { request } else { nil }
    }
    let settlement = context.outbox.takeSettlement()
    let missing = Mutex<Set<Int>>([])
    do throws(StoreError) {
      let keys = try firstKeys(of: requests, at: batch.now)
      let (conclusions, messages) = try await context.transact(keys, at: batch.now, settling: settlement) {
        [work] set throws(StoreError) in
        var late: Set<Int> = requests.count > 1 && set.rounds > Self.maxRounds ? missing.withLock { $0 } : []
        defer { missing.withLock { [late] in $0 = late } }
        try Self.requireMore(requests, work, in: set)
        return try Self.process(requests, work, without: &late, in: &set)
      }
      for case (let index, let conclusion?) in zip(indices, conclusions) { batch.steps[index] = .end(conclusion) }
      batch.messages += messages
      return nil
    } catch {
      context.outbox.note(settlement)
      return error
    }
  }
}
