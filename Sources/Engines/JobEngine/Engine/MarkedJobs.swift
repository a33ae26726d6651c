import CountersignAMQP
import CrashMarks

/// Processes redelivered jobs, a few at a time, under marks that outlive a crash: see ``CrashMarks``.
struct MarkedJobs: Sendable {
  let marks: CrashMarks
  let context: WorkerContext
  let inFlight: InFlight

  /// Groups at once: as many jobs as the lanes carry out at once, so that no more become suspects in a crash.
  static func groupsAtOnce(_ lanes: [LaneConfiguration]) -> Int {
    let slots = lanes.map(\.concurrency).reduce(0, +)
    return max(4, (slots + MarkPlan.maxGroup - 1) / MarkPlan.maxGroup)
  }

  /// Maximum time of the jobs in progress before one can be alone: they wait for a slot, are called, and are settled.
  static func quietPatience(_ lanes: [LaneConfiguration], _ rules: JobRules) -> Duration {
    let longestCall = lanes.map(\.callTimeout).max() ?? .zero
    return max(CrashMarks.quietPatience, rules.maxSlotWait + longestCall + .seconds(20))
  }

  func workOff(_ redelivered: [Delivery]) async {
    await withDiscardingTaskGroup { group in
      await marks.admit(redelivered, spawn: { work in group.addTask { await work() } }) { await workOff($0) }
    }
  }

  /// Begins first deliveries when they may begin.
  func enter(_ count: Int) async { await marks.gate.enter(count) }

  /// Processes a job that is delivered for the first time.
  func work(on delivery: Delivery) async {
    await context.process(delivery)
    marks.gate.leave()
    inFlight.end()
  }

  private func workOff(_ step: MarkedStep) async -> Set<DeliveryTag> {
    let notes = context.requeueTracker
    let tags = step.deliveries.map(\.tag)
    notes.watch(tags)
    await withDiscardingTaskGroup { group in
      for delivery in step.deliveries {
        group.addTask {
          await workOff(delivery, step.treatment)
          inFlight.end()
        }
      }
    }
    return notes.take(tags).union(tags.filter { !notes.isLive($0) })
  }

  private func workOff(_ delivery: Delivery, _ treatment: MarkTreatment) async {
    switch treatment {
    case .group, .alone: await context.process(delivery)
    case .bury: await context.bury(delivery, .crashed)
    case .leave: context.source.reject(delivery.tag, requeue: false)
    }
  }
}
