public import CountersignAMQP
import CountersignConcurrency
public import CountersignTelemetry
import RecordStore

/// Finds the message that ends the process, and spares those that were taken from the queue with it.
///
/// After a crash the broker redelivers every unacknowledged message. Redelivered messages are marked in a store before
/// they are decoded, and unmarked when settled. A process that finds a dead one's mark looks closer: see ``MarkPlan``.
/// First deliveries cost nothing.
public final class CrashMarks: Sendable {
  /// Maximum time for which a message is alone. A message that ends the process does so when it is read or answered,
  /// not during the wait for a provider.
  public static let patience: Duration = .seconds(5)
  /// Maximum wait for other messages before one is alone: longer than a job may wait for a slot and then be called.
  /// Crashes of a message that did not have the process to itself are never counted.
  public static let quietPatience: Duration = .seconds(90)
  /// Reason on dead letters and in answers.
  public static let reason = "CRASHED"
  /// The header in which a quorum queue counts deliveries.
  static let deliveryCount = "x-delivery-count"

  /// Order of redelivered messages.
  public enum Order: Sendable, Hashable {
    /// That of the queue, a step at a time.
    case kept
    /// The suspicious ones last, at most so many steps at once.
    case any(stepsAtOnce: Int)

    var stepsAtOnce: Int { if case .any(let count) = self { count } else { 1 } }
  }

  /// The gate that first deliveries pass too.
  public let gate: TrialGate
  private let queue: String
  private let store: (any MarkStore)?
  private let window: Window
  private let order: Order
  private let trialPatience: TrialPatience
  private let clock: any WallClock
  private let logger: Logger
  private let found: Counter
  private let failures: Counter
  private let suspects: Gauge

  /// - Parameters:
  ///   - queue: queue of the messages.
  ///   - store: store of the marks; `nil` when nothing outlives the process.
  ///   - order: order of the messages.
  ///   - gate: gate of the process, except in tests.
  ///   - trial: maximum durations of a trial.
  ///   - clock: clock for the time of marks.
  ///   - logger: logger of crashes and faults.
  ///   - metrics: registry of the counters.
  public init(
    queue: String, store: (any MarkStore)?, order: Order, gate: TrialGate = .process,
    trial: TrialPatience = TrialPatience(), clock: any WallClock, logger: Logger, metrics: MetricsRegistry
  ) {
    self.queue = queue
    self.store = store
    self.order = order
    self.gate = gate
    trialPatience = trial
    self.clock = clock
    self.logger = logger
    window = Window(order.stepsAtOnce)
    found = metrics.counter(
      "countersign_crash_marks_found_total",
      "Redelivered messages that a process was working on when it died.", labels: ["queue"]
    ).with(queue)
    failures = metrics.counter(
      "countersign_crash_mark_failures_total", "Marks of redelivered messages that could not be read or written.",
      labels: ["queue"]
    ).with(queue)
    suspects = metrics.gauge(
      "countersign_crash_suspects", "Redelivered messages that are being processed one at a time.",
      labels: ["queue"]
    ).with(queue)
  }

  /// Marks without a store, which process one message at a time.
  public static func none(queue: String, clock: any WallClock, logger: Logger) -> CrashMarks {
    CrashMarks(
      queue: queue, store: nil, order: .any(stepsAtOnce: 1), gate: TrialGate(), clock: clock, logger: logger,
      metrics: MetricsRegistry())
  }

  /// Processes redelivered messages, each under its mark. Returns when all are begun.
  ///
  /// - Parameters:
  ///   - redelivered: the messages, still undecoded.
  ///   - spawn: starts work concurrent to the caller.
  ///   - work: processes a step, and returns its unsettled deliveries: they went back to the queue, or will.
  public func admit(
    _ redelivered: [Delivery], spawn: (@escaping @Sendable () async -> Void) -> Void,
    work: @escaping @Sendable (MarkedStep) async -> Set<DeliveryTag>
  ) async {
    guard !redelivered.isEmpty else { return }
    let steps = await plan(redelivered)
    suspects.add(Double(steps.count { $0.treatment == .alone }))
    for step in steps {
      await window.enter()
      if step.treatment == .group {
        await gate.enter()
        await begin(step, isAlone: false)
        spawn {
          await self.end(step, unsettled: work(step))
          self.gate.leave()
          step.pass()
        }
      } else {
        await tryAlone(step, spawn, work)
        if step.treatment == .alone { suspects.add(-1) }
      }
    }
  }

  /// Suspends until one more step could begin: where one is processed at once, until those begun have passed.
  public func passed() async {
    await window.enter()
    window.leave()
  }

  /// Gives the remaining marks back when the process ends regularly.
  public func release() async {
    guard let store else { return }
    await attempt { store throws(StoreError) in try await store.release() }
    await store.close()
  }

  private func tryAlone(
    _ step: MarkedStep, _ spawn: (@escaping @Sendable () async -> Void) -> Void,
    _ work: @escaping @Sendable (MarkedStep) async -> Set<DeliveryTag>
  ) async {
    let isQuiet = await gate.beginTrial(trialPatience.quiet)
    await begin(step, isAlone: isQuiet)
    let trial = Wait()
    spawn {
      await self.end(step, unsettled: work(step))
      // Otherwise other messages have been admitted, and it was one of them.
      if !trial.finish(true) { self.gate.leave() }
      step.pass()
    }
    let isOver = await trial.value(trialPatience.alone)
    if !isOver { await relax(step) }
    gate.endTrial(goesOn: !isOver)
  }
}

// MARK: - Marks

extension CrashMarks {
  private func plan(_ deliveries: [Delivery]) async -> [MarkedStep] {
    let keys = deliveries.map { MessageKey($0, queue: queue) }
    let standings = await find(keys)
    report(deliveries, standings)
    let treatments = zip(deliveries, standings).map { delivery, standing in
      store == nil
        ? MarkPlan.treatment(redeliveries: Self.redeliveries(delivery)) : MarkPlan.treatment(standing)
    }
    let steps =
      order == .kept ? MarkPlan.stepsInOrder(treatments) : MarkPlan.steps(treatments, deaths: standings.map(\.deaths))
    return steps.map { step in
      MarkedStep(
        treatment: step.treatment,
        deliveries: step.places.map { store == nil ? deliveries[$0] : corrected(deliveries[$0], standings[$0]) },
        keys: step.places.map { keys[$0] }, standings: step.places.map { standings[$0] },
        place: StepPlace(in: window))
    }
  }

  /// Number of earlier deliveries of a message, as the broker counts: including crashes caused by its neighbors.
  private static func redeliveries(_ delivery: Delivery) -> Int {
    max(1, delivery.message.headers[deliveryCount]?.intValue.map { Int(clamping: $0) } ?? 1)
  }

  /// The broker also counts deliveries that only waited next to others. Marks know better: the message may have been
  /// begun at its first delivery, which had no mark, and at each delivery whose mark was found.
  private func corrected(_ delivery: Delivery, _ standing: MarkStanding) -> Delivery {
    var delivery = delivery
    let count = min(Self.redeliveries(delivery), 1 + standing.begun)
    delivery.message.headers[Self.deliveryCount] = .int(Int64(count))
    return delivery
  }

  private func report(_ deliveries: [Delivery], _ standings: [MarkStanding]) {
    let count = standings.count { $0.isFound }
    guard count > 0 else { return }
    found.increment(by: UInt64(count))
    logger.warning(
      "messages are redelivered that a process was working on when it died", [.queue: queue, .count: count])
    for (delivery, standing) in zip(deliveries, standings) where standing.isFound && standing.deaths > 0 {
      logger.error(
        "a process died while it worked on this message alone",
        [.queue: queue, .messageID: delivery.message.messageID, "deaths": standing.deaths])
    }
  }

  private func find(_ keys: [MessageKey]) async -> [MarkStanding] {
    var found: [MessageKey: MarkStanding] = [:]
    await attempt { store throws(StoreError) in found = try await store.find(keys) }
    return keys.map { found[$0] ?? MarkStanding() }
  }

  private func begin(_ step: MarkedStep, isAlone: Bool) async {
    let now = clock.now()
    await attempt { store throws(StoreError) in try await store.write(step.marks(isAlone: isAlone), at: now) }
  }

  private func relax(_ step: MarkedStep) async {
    for key in step.keys {
      await attempt { store throws(StoreError) in try await store.relax(key) }
    }
  }

  private func end(_ step: MarkedStep, unsettled: Set<DeliveryTag>) async {
    let settled = step.keys { !unsettled.contains($0.tag) }
    let back = step.keys { unsettled.contains($0.tag) }
    if !settled.isEmpty { await attempt { store throws(StoreError) in try await store.remove(settled) } }
    if !back.isEmpty { await attempt { store throws(StoreError) in try await store.giveBack(back) } }
  }

  /// Without its mark a message is processed all the same, as at its first delivery: a full disk must not stop the
  /// queue.
  private func attempt(_ body: (any MarkStore) async throws(StoreError) -> Void) async {
    guard let store else { return }
    do throws(StoreError) {
      try await body(store)
    } catch {
      failures.increment()
      logger.error(
        "marks of redelivered messages cannot be stored; a crash may now cost messages that did not cause it",
        [.queue: queue, .error: error.description])
    }
  }
}
