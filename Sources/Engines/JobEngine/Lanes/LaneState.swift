import CountersignConcurrency
import CountersignTelemetry

/// A lane without its locks, timers and tasks: assigns slots, and decides when the lane counts as down.
///
/// ```
///          laneDown, or too many consecutive failures
///    up ────────────────────────────────────────────► down ◄──────────────┐
///    ▲                                                 │ probe due         │
///    │ the provider reports that it works              ▼                   │ it still does not
///    ├──────────────────────────────────────────── asking ─────────────────┤
///    │                                                 │ it cannot tell    │
///    │ the trial was answered                          ▼                   │
///    └──────────────────────────────────────────── halfOpen ───────────────┘ the trial failed
/// ```
///
/// Methods return the actions to take; the owner locks, asks, unlocks, acts.
struct LaneState: Sendable {
  enum Condition: Sendable, Hashable {
    case up(failures: Int)
    case down(Reason, probeAt: MonotonicTime)
    case asking(Reason)
    case halfOpen(Reason, trialOut: Bool)
  }

  struct Resumption: Sendable, Hashable {
    var ticket: Int
    var answer: SlotAnswer
  }

  private struct Waiter: Sendable {
    var ticket: Int
    var giveUpAt: MonotonicTime
  }

  static let askingDelay: Duration = .seconds(1)

  let configuration: LaneConfiguration
  private(set) var condition: Condition = .up(failures: 0)
  private(set) var inFlight = 0
  private(set) var lastFailure: Reason?
  private(set) var lastAnswer: MonotonicTime?
  private(set) var downSince: MonotonicTime?
  private var bucket: TokenBucket?
  private var waiters: [Waiter] = []
  private var epoch = 0
  private var downInARow = 0
  private var isStopping = false

  init(_ configuration: LaneConfiguration, now: MonotonicTime) {
    self.configuration = configuration
    bucket = configuration.rate.map { TokenBucket($0, now: now) }
  }

  var isUp: Bool {
    if case .up = condition { true } else { false }
  }

  /// A lane that admits a trial is not down.
  var isDown: Bool {
    switch condition {
    case .up, .halfOpen: false
    case .down, .asking: true
    }
  }

  var reason: Reason? {
    switch condition {
    case .up: nil
    case .down(let reason, _), .asking(let reason), .halfOpen(let reason, _): reason
    }
  }

  var waiting: Int { waiters.count }

  var failures: Int {
    if case .up(let failures) = condition { failures } else { 0 }
  }

  /// `nil` when there is none now: the ticket, if any, is queued, and a ``Resumption`` will name it.
  mutating func acquire(ticket: Int?, giveUpAt: MonotonicTime, now: MonotonicTime) -> SlotAnswer? {
    if isStopping { return .stopping }
    switch condition {
    case .down(let reason, let probeAt): return .down(reason, until: max(probeAt, now))
    case .asking(let reason): return .down(reason, until: now + Self.askingDelay)
    case .up, .halfOpen: break
    }
    if waiters.isEmpty, let grant = grant(now) { return .granted(grant) }
    if let bound = configuration.maxWaiting, waiters.count >= bound { return .busy }
    if let ticket { waiters.append(Waiter(ticket: ticket, giveUpAt: giveUpAt)) }
    return nil
  }

  mutating func finish(_ grant: SlotGrant, _ report: CallReport, now: MonotonicTime, jitter: Double) -> [Resumption] {
    inFlight -= 1
    switch report {
    case .unused: bucket?.putBack()
    case .answered: lastAnswer = now
    case .failed(let reason), .down(let reason): lastFailure = reason
    }
    guard grant.epoch == epoch else { return serve(now) }
    switch (condition, report) {
    case (.up, .answered): condition = .up(failures: 0)
    case (.up(let failures), .failed(let reason)):
      condition = .up(failures: failures + 1)
      let threshold = configuration.breakerThreshold
      if threshold > 0, failures + 1 >= threshold { return goDown(reason, now: now, jitter: jitter) }
    case (.up, .down(let reason)): return goDown(reason, now: now, jitter: jitter)
    case (.up, .unused): break
    case (.halfOpen, .answered): goUp()
    case (.halfOpen, .failed(let reason)), (.halfOpen, .down(let reason)):
      return goDown(reason, now: now, jitter: jitter)
    case (.halfOpen(let reason, _), .unused): condition = .halfOpen(reason, trialOut: false)
    case (.down, _), (.asking, _): break
    }
    return serve(now)
  }

  /// `true` once for each time that it is due.
  mutating func startProbeIfDue(now: MonotonicTime) -> Bool {
    guard case .down(let reason, let probeAt) = condition, probeAt <= now, !isStopping else { return false }
    condition = .asking(reason)
    return true
  }

  mutating func probed(_ result: ProbeResult, now: MonotonicTime, jitter: Double) -> [Resumption] {
    guard case .asking(let reason) = condition else { return [] }
    switch result {
    case .up: goUp()
    case .down(let reason): return goDown(reason, now: now, jitter: jitter)
    case .cannotTell: condition = .halfOpen(reason, trialOut: false)
    }
    return serve(now)
  }

  mutating func advance(now: MonotonicTime) -> [Resumption] {
    guard !waiters.isEmpty else { return [] }
    let resumptions = serve(now)
    let late = waiters.filter { $0.giveUpAt <= now }
    guard !late.isEmpty else { return resumptions }
    waiters.removeAll { $0.giveUpAt <= now }
    return resumptions + late.map { Resumption(ticket: $0.ticket, answer: .busy) }
  }

  mutating func stop() -> [Resumption] {
    isStopping = true
    return endWaits(.stopping)
  }

  private mutating func grant(_ now: MonotonicTime) -> SlotGrant? {
    guard inFlight < configuration.concurrency else { return nil }
    let isTrial: Bool
    switch condition {
    case .up, .halfOpen(_, trialOut: false): isTrial = !isUp
    case .halfOpen(_, trialOut: true), .down, .asking: return nil
    }
    guard bucket?.take(now: now) ?? true else { return nil }
    if case .halfOpen(let reason, _) = condition { condition = .halfOpen(reason, trialOut: true) }
    inFlight += 1
    return SlotGrant(epoch: epoch, isTrial: isTrial)
  }

  private mutating func serve(_ now: MonotonicTime) -> [Resumption] {
    guard !waiters.isEmpty, !isStopping else { return [] }
    var resumptions: [Resumption] = []
    while resumptions.count < waiters.count, let grant = grant(now) {
      resumptions.append(Resumption(ticket: waiters[resumptions.count].ticket, answer: .granted(grant)))
    }
    waiters.removeFirst(resumptions.count)
    return resumptions
  }

  private mutating func goUp() {
    condition = .up(failures: 0)
    downInARow = 0
    downSince = nil
    epoch += 1
  }

  private mutating func goDown(_ reason: Reason, now: MonotonicTime, jitter: Double) -> [Resumption] {
    downInARow += 1
    downSince = downSince ?? now
    epoch += 1
    let probeAt = now + Backoff(configuration.probeDelay, jitter: .half).delay(after: downInARow, random: jitter)
    condition = .down(reason, probeAt: probeAt)
    return endWaits(.down(reason, until: probeAt))
  }

  private mutating func endWaits(_ answer: SlotAnswer) -> [Resumption] {
    defer { waiters.removeAll() }
    return waiters.map { Resumption(ticket: $0.ticket, answer: answer) }
  }
}
