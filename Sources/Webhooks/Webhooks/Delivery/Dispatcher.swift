import CommandEngine
import CountersignConcurrency
import CountersignTelemetry
import ServiceRuntime
import Synchronization

/// Claims events that are due, sends them, and has their outcomes stored, many in a transaction each.
final class Dispatcher: Service {
  typealias Send = @Sendable (Attempt) async -> Outcome

  /// Time in which claims and outcomes gather.
  static let gathering = Duration.milliseconds(5)
  /// Interval at which all webhooks are looked at: retries become due, and other processes leave events.
  static let interval = Duration.seconds(1)
  /// Outcomes of one transaction.
  private static let maxSettled = 256
  /// Pause after a failure of the store.
  private static let pause = Duration.milliseconds(500)

  private struct State {
    var webhooks: [Webhook] = []
    var lookedAt: MonotonicTime?
    var paces: [String: Pace] = [:]
    /// Webhooks that had more than there was room for.
    var behind: Set<String> = []
    var ended: [Ended] = []
    /// Webhooks whose secrets cannot be opened.
    var unopened = 0
    /// By the loop that they stop.
    var failures: [String: String] = [:]
  }

  let name = "deliveries"
  private let store: DeliveryStore
  private let rules: WebhookRules
  private let secrets: WebhookSecrets
  private let clocks: (wall: any WallClock, monotonic: any MonotonicClock)
  private let mayWork: @Sendable () -> Bool
  private let wakes: Wakes
  private let outcomes = Wakes()
  private let metrics: WebhookMetrics
  private let logger: Logger
  private let send: Send
  private let state = Mutex(State())
  private let stopRequested = Latch()

  /// - Parameter mayWork: whether this process may take anything; see `Attendance`.
  init(
    _ store: DeliveryStore, _ parts: WebhookParts, monotonic: any MonotonicClock, logger: Logger,
    mayWork: @escaping @Sendable () -> Bool = { true }, send: @escaping Send
  ) {
    self.store = store
    rules = parts.rules
    secrets = parts.secrets
    clocks = (parts.clock, monotonic)
    self.mayWork = mayWork
    wakes = parts.wakes
    metrics = parts.metrics
    self.logger = logger
    self.send = send
  }

  /// Nothing is sent for a webhook whose secret cannot be opened, and nothing counts against its server.
  var health: HealthState {
    let count = state.withLock { $0.unopened }
    if count == 0 { return .ok }
    return .failing(
      "the secrets of \(count) webhooks cannot be opened",
      hint: "webhookKeysFile lacks the key that they are sealed under")
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.settle() }
      await deliver()
      outcomes.end()
    }
  }

  func stop() async {
    stopRequested.open()
    wakes.end()
  }

  // MARK: Claims

  /// Returns when all that was sent has an outcome.
  private func deliver() async {
    await withDiscardingTaskGroup { requests in
      requests.addTask { await self.tick() }
      for await _ in wakes.signals where !stopRequested.isOpen {
        if mayWork() { await round(in: &requests) }
        await stopRequested.wait(atMost: Self.gathering)
      }
    }
  }

  private func tick() async {
    while await !stopRequested.wait(atMost: Self.interval) { wakes.wakeAll() }
  }

  /// One look at the webhooks that may have something to send.
  private func round(in requests: inout DiscardingTaskGroup) async {
    let woken = wakes.take()
    var failure: StoreError?
    do throws(StoreError) {
      for (webhook, room) in try await ready(woken) {
        do throws(StoreError) {
          try await claim(webhook, room, in: &requests)
        } catch {
          failure = error
          logger.debug("events cannot be claimed", ["webhook": "\(webhook.id.text)", .error: error.description])
        }
      }
    } catch {
      failure = error
    }
    note(failure?.description, in: "claims")
    guard failure != nil else { return }
    for id in woken { wakes.wake(id) }
    await stopRequested.wait(atMost: Self.pause)
  }

  private func claim(
    _ webhook: Webhook, _ room: Int, in requests: inout DiscardingTaskGroup
  ) async throws(StoreError) {
    let (attempts, isMore) = try await store.claim(webhook, limit: room, at: clocks.wall.now())
    state.withLock { state in
      state.paces[webhook.id.text, default: Pace()].begin(attempts.count)
      if isMore { state.behind.insert(webhook.id.text) }
    }
    if isMore { wakes.wakeAll() }
    for attempt in attempts { requests.addTask { await self.carryOut(attempt) } }
  }

  /// Webhooks with room for requests that are to be looked at: all of them each second, otherwise those with news.
  private func ready(_ woken: Set<String>) async throws(StoreError) -> [(Webhook, room: Int)] {
    let now = clocks.monotonic.now()
    let looksAtAll = state.withLock { state in state.lookedAt.map { now - $0 >= Self.interval } ?? true }
    let known = state.withLock { state in Set(state.webhooks.map(\.id.text)) }
    if looksAtAll || !woken.isSubset(of: known) {
      let all = try await store.webhooks(at: clocks.wall.now())
      let opened = all.filter { secrets.open($0.sealedSecret, of: $0.id.text) != nil }
      let webhooks = opened.filter { $0.state == .enabled }
      state.withLock { state in
        state.webhooks = webhooks
        state.unopened = all.count - opened.count
        if looksAtAll { state.lookedAt = now }
        let ids = Set(webhooks.map(\.id.text))
        state.paces = state.paces.filter { ids.contains($0.key) || $0.value.underWay > 0 }
      }
    }
    return state.withLock { state -> [(Webhook, room: Int)] in
      let all = state.paces.values.reduce(0) { $0 + $1.underWay }
      var left = max(0, rules.maxConcurrent - all)
      // A server that is slow with its share leaves the others theirs.
      let busy = state.webhooks.count { webhook in
        let id = webhook.id.text
        return woken.contains(id) || state.behind.contains(id) || (state.paces[id]?.underWay ?? 0) > 0
      }
      let limit = min(rules.maxPerWebhook, max(1, rules.maxConcurrent / max(1, busy)))
      let due = state.webhooks.filter { webhook in
        looksAtAll || woken.contains(webhook.id.text) || state.behind.contains(webhook.id.text)
      }
      return due.shuffled().compactMap { webhook -> (Webhook, room: Int)? in
        let pace = state.paces[webhook.id.text] ?? Pace()
        let room = min(left, pace.room(of: limit, at: now), DeliveryStore.maxClaimed)
        guard room > 0 else {
          // It is looked at again when a request ends.
          state.behind.insert(webhook.id.text)
          return nil
        }
        state.behind.remove(webhook.id.text)
        left -= room
        return (webhook, room)
      }
    }
  }

  // MARK: Requests

  /// The claim of an event ends while the process stands still: then another one has it.
  private func carryOut(_ attempt: Attempt) async {
    let begun = clocks.monotonic.now()
    let outcome = await send(attempt)
    let now = clocks.monotonic.now()
    metrics.count(outcome, took: now - begun)
    let id = attempt.webhook.id.text
    let isNews = state.withLock { state in
      let wasDown = state.paces[id]?.isDown ?? false
      state.paces[id, default: Pace()].end(outcome, at: now)
      state.ended.append(Ended(attempt: attempt, outcome: outcome))
      return !wasDown && state.paces[id]?.isDown == true
    }
    if isNews { logger.warning("a webhook is taken for down", ["webhook": "\(id)", .error: outcome.failure]) }
    outcomes.wakeAll()
  }

  // MARK: Outcomes

  private func settle() async {
    for await _ in outcomes.signals {
      while let ended = next() { await settle(ended) }
      await stopRequested.wait(atMost: Self.gathering)
    }
    while let ended = next() { await settle(ended) }
  }

  private func next() -> [Ended]? {
    state.withLock { state in
      guard !state.ended.isEmpty else { return nil }
      defer { state.ended.removeFirst(min(Self.maxSettled, state.ended.count)) }
      return Array(state.ended.prefix(Self.maxSettled))
    }
  }

  /// An event whose outcome cannot be stored while its claim lasts is sent again.
  private func settle(_ ended: [Ended]) async {
    let deadline = clocks.monotonic.now() + Lane.claimTime
    while clocks.monotonic.now() < deadline {
      do throws(StoreError) {
        if let switchedOff = try await store.settle(ended, at: clocks.wall.now()) {
          log(switchedOff)
          note(nil, in: "outcomes")
          break
        }
      } catch {
        note(error.description, in: "outcomes")
        guard error.code != .closed else { return }
        do { try await Task.sleep(for: Self.pause) } catch { return }
      }
    }
    for id in Set(ended.map(\.attempt.webhook.id.text)) { wakes.wake(id) }
  }

  private func log(_ switchedOff: [Webhook]) {
    for webhook in switchedOff {
      logger.warning(
        "a webhook is switched off",
        ["webhook": "\(webhook.id.text)", .reason: webhook.state.rawValue, .error: webhook.lastFailure])
    }
  }

  /// A failure is logged when it begins.
  private func note(_ failure: String?, in loop: String) {
    let isNews = state.withLock { state in
      defer { state.failures[loop] = failure }
      return failure != nil && state.failures[loop] != failure
    }
    if isNews {
      logger.error("deliveries wait for the database", [.error: failure])
    }
  }
}
