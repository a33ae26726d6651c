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

  func enter(_ count: Int) async { await marks.gate.enter(count) }

  func work(on delivery: Delivery) async {
    await context.process(delivery)
    marks.gate.leave()
    inFlight.end()
  }

  private func workOff(_ step: MarkedStep) async -> Set<DeliveryTag> {
    await withTaskGroup(of: DeliveryTag?.self) { group in
      for delivery in step.deliveries {
        group.addTask {
          defer { inFlight.end() }
          return await workOff(delivery, step.treatment) ? delivery.tag : nil
        }
      }
      let requeued = await group.reduce(into: Set<DeliveryTag>()) { if let tag = $1 { $0.insert(tag) } }
      return requeued.union(step.deliveries.map(\.tag).filter { !context.source.isLive($0) })
    }
  }

  private func workOff(_ delivery: Delivery, _ treatment: MarkTreatment) async -> Bool {
    switch treatment {
    case .group, .alone: return await context.process(delivery)
    case .bury: return await context.bury(delivery, .crashed)
    case .leave:
      context.source.reject(delivery.tag, requeue: false)
      return false
    }
  }
}
