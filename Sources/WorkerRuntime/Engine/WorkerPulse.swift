import ServiceRuntime
import Synchronization
import Telemetry

/// What the worker does at each tick: fires timers, moves lanes on, probes those that are down, pauses and resumes the consumer.
final class WorkerPulse: Sendable {
  private enum Consuming {
    case on
    case pausing
    case paused
    case resuming
  }

  private struct State {
    var consuming = Consuming.on
    var outage: Reason?
    /// The lanes that were down at the last tick, for the log.
    var down: Set<String> = []
  }

  private let parts: WorkerParts
  private let inFlight: InFlight
  private let state = Mutex(State())

  init(parts: WorkerParts, inFlight: InFlight) {
    self.parts = parts
    self.inFlight = inFlight
  }

  /// One tick.
  /// - Returns: What takes longer than a tick may.
  func beat() -> [@Sendable () async -> Void] {
    let now = parts.clock.now()
    parts.timers.fire(now: now)
    var tasks: [@Sendable () async -> Void] = []
    for lane in parts.lanes.values {
      lane.advance(now: now)
      if lane.startProbeIfDue(now: now) { tasks.append { await self.probe(lane) } }
      report(lane)
    }
    parts.metrics.inFlight.set(Double(inFlight.count))
    if let task = switchConsuming(now: now) { tasks.append(task) }
    return tasks
  }

  /// Whether jobs can be served.
  var jobsHealth: HealthState {
    if parts.isDraining { return .failing("the worker is stopping") }
    guard let outage = state.withLock({ $0.outage }) else { return .ok }
    return .failing(
      "no job can be served: \(outage)", mend: "jobs stay in \(parts.options.queue) and are taken again by themselves")
  }

  /// Whether what is begun and ended can be recorded.
  var ledgerHealth: HealthState {
    guard parts.isLedgerFailing else { return .ok }
    return .failing(
      "the ledger cannot be written", mend: "see the log for why; free space, or mend the file's permissions")
  }

  private func probe(_ lane: Lane) async {
    let probe = parts.probe
    let name = lane.name
    let result = await parts.callGuard.run(
      timeout: lane.configuration.callTimeout, abandoned: ProbeResult.down(.callTimedOut)
    ) {
      await probe(name)
    }
    lane.probed(result, now: parts.clock.now())
  }

  private func report(_ lane: Lane) {
    let (isUp, reason, calls, waiting) = lane.read { ($0.isUp, $0.reason, $0.inFlight, $0.waiting) }
    let metrics = parts.metrics.lanes[lane.name]
    metrics?.isUp.set(isUp ? 1 : 0)
    metrics?.inFlight.set(Double(calls))
    metrics?.waiting.set(Double(waiting))
    let changed = state.withLock { state in
      isUp ? state.down.remove(lane.name) != nil : state.down.insert(lane.name).inserted
    }
    guard changed else { return }
    if isUp {
      parts.log.info("lane is up", [.lane: lane.name, .queue: parts.options.queue])
    } else {
      parts.log.error(
        "lane is down", [.lane: lane.name, .queue: parts.options.queue, .reason: reason?.description])
    }
  }

  /// Pauses the consumer when no job can be served, and resumes it when one can. The broker's answer may take long, so it is
  /// awaited elsewhere.
  private func switchConsuming(now: UnixTime) -> (@Sendable () async -> Void)? {
    if parts.isDraining { return nil }
    let outage = parts.outage(now: now)
    let next: Consuming? = state.withLock { state in
      state.outage = outage
      switch (state.consuming, outage) {
      case (.on, .some): state.consuming = .pausing
      case (.paused, nil): state.consuming = .resuming
      case (.on, nil), (.paused, .some), (.pausing, _), (.resuming, _): return nil
      }
      return state.consuming
    }
    switch next {
    case .pausing:
      parts.log.error(
        "no job can be served; the consumer pauses", [.queue: parts.options.queue, .reason: outage?.description])
      return { await self.pause() }
    case .resuming:
      parts.log.info("jobs can be served again; the consumer resumes", [.queue: parts.options.queue])
      return { await self.resume() }
    case .on, .paused, nil: return nil
    }
  }

  private func pause() async {
    await parts.source.pause()
    parts.metrics.isPaused.set(1)
    state.withLock { $0.consuming = .paused }
  }

  private func resume() async {
    await parts.source.resume()
    parts.metrics.isPaused.set(0)
    state.withLock { $0.consuming = .on }
  }
}
