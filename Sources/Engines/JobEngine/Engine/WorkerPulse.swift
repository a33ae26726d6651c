import CountersignAMQP
import CountersignTelemetry
import CrashMarks
import ServiceRuntime
import Synchronization

/// Work of each tick: fires timers, advances lanes, probes those that are down, pauses and resumes the consumer.
final class WorkerPulse: Sendable {
  private enum Consuming {
    case on
    case oneByOne
    case paused

    init(_ serving: Serving) {
      switch serving {
      case .all: self = .on
      case .oneByOne: self = .oneByOne
      case .none: self = .paused
      }
    }
  }

  private struct State {
    var consuming = Consuming.on
    var isSwitching = false
    var serving = Serving.all
    var down: Set<String> = []
  }

  private let context: WorkerContext
  private let inFlight: InFlight
  private let state = Mutex(State())

  init(context: WorkerContext, inFlight: InFlight) {
    self.context = context
    self.inFlight = inFlight
  }

  func beat() -> [@Sendable () async -> Void] {
    let now = context.monotonic.now()
    context.timers.fire(now: now)
    var tasks: [@Sendable () async -> Void] = []
    for lane in context.lanes.values {
      lane.advance(now: now)
      if lane.startProbeIfDue(now: now) { tasks.append { await self.probe(lane) } }
      report(lane)
    }
    context.metrics.inFlight.set(Double(inFlight.count))
    if let task = switchConsuming(now: now) { tasks.append(task) }
    return tasks
  }

  /// The longest time between ticks: the maximum age of polled state.
  static let longestPause: Duration = .seconds(1)

  /// A job that begins wakes the ticker.
  var pause: Duration {
    if inFlight.count > 0 || context.isDraining || state.withLock({ $0.isSwitching }) { return .zero }
    let now = context.monotonic.now()
    var due = now + Self.longestPause
    if let timer = context.timers.earliest { due = min(due, timer) }
    for lane in context.lanes.values {
      switch lane.read({ $0.condition }) {
      case .up, .halfOpen: break
      case .down(_, let probeAt): due = min(due, probeAt)
      case .asking: return .zero
      }
    }
    return max(.zero, due - now)
  }

  var jobsHealth: HealthState {
    if context.isDraining { return .failing("the worker is stopping") }
    guard case .none(let outage) = state.withLock({ $0.serving }) else { return .ok }
    return .failing(
      "no job can be served: \(outage)",
      hint: "jobs stay in \(context.options.queue) and are consumed again automatically"
    )
  }

  var ledgerHealth: HealthState {
    guard let outage = context.ledgerOutage else { return .ok }
    return .failing("the ledger cannot be written: \(outage)", hint: context.ledger.remedy)
  }

  private func probe(_ lane: Lane) async {
    let probe = context.probe
    let name = lane.name
    let result = await context.callGuard.run(
      timeout: lane.configuration.callTimeout, abandoned: ProbeResult.down(.callTimedOut)
    ) {
      await TrialGate.process.aside { await probe(name) }
    }
    lane.probed(result, now: context.monotonic.now())
  }

  private func report(_ lane: Lane) {
    let (isUp, reason, calls, waiting) = lane.read { ($0.isUp, $0.reason, $0.inFlight, $0.waiting) }
    let metrics = context.metrics.lanes[lane.name]
    metrics?.isUp.set(isUp ? 1 : 0)
    metrics?.inFlight.set(Double(calls))
    metrics?.waiting.set(Double(waiting))
    let changed = state.withLock { state in
      isUp ? state.down.remove(lane.name) != nil : state.down.insert(lane.name).inserted
    }
    guard changed else { return }
    if isUp {
      context.logger.info("lane is up", [.lane: lane.name, .queue: context.options.queue])
    } else {
      context.logger.error(
        "lane is down", [.lane: lane.name, .queue: context.options.queue, .reason: reason?.description])
    }
  }

  /// The broker's answer may take long, so it is awaited elsewhere.
  private func switchConsuming(now: MonotonicTime) -> (@Sendable () async -> Void)? {
    if context.isDraining { return nil }
    let serving = context.serving(now: now)
    let wanted = Consuming(serving)
    let isChange = state.withLock { state in
      state.serving = serving
      guard !state.isSwitching, state.consuming != wanted else { return false }
      state.consuming = wanted
      state.isSwitching = true
      return true
    }
    guard isChange else { return nil }
    switch serving {
    case .none(let outage):
      context.logger.error(
        "no job can be served; the consumer pauses", [.queue: context.options.queue, .reason: outage.description])
    case .oneByOne(let reason):
      context.logger.info(
        "one job at a time is tried; the others stay in the queue",
        [.queue: context.options.queue, .reason: reason.description])
    case .all:
      context.logger.info("jobs can be served again; the consumer resumes", [.queue: context.options.queue])
    }
    return { await self.switchConsumer(to: wanted) }
  }

  private func switchConsumer(to wanted: Consuming) async {
    switch wanted {
    case .on: await context.source.resume()
    case .oneByOne: await context.source.resumeOneByOne()
    case .paused: await context.source.pause()
    }
    context.metrics.isPaused.set(wanted == .on ? 0 : 1)
    state.withLock { $0.isSwitching = false }
  }
}
