import AMQP
import CrashMarks

/// Works on jobs that were delivered before, a few at a time, under marks that outlive a crash: see ``CrashMarks``.
struct MarkedJobs: Sendable {
  /// Groups at once. As many jobs as a lane usually carries out at once, and no more to be looked at one by one after a crash.
  static let groupsAtOnce = 4

  let marks: CrashMarks
  let processor: JobProcessor
  let inFlight: InFlight

  /// Begins those of a batch that were delivered before.
  ///
  /// - Returns: the others, which are delivered for the first time, when they may begin.
  func workOffRedelivered(
    _ batch: [Delivery], spawn: (@escaping @Sendable () async -> Void) -> Void
  ) async -> [Delivery] {
    let redelivered = batch.filter(\.isRedelivered)
    var others = batch
    if !redelivered.isEmpty {
      await marks.admit(redelivered, spawn: spawn) { await workOff($0) }
      others.removeAll(where: \.isRedelivered)
    }
    if !others.isEmpty { await marks.gate.enter(others.count) }
    return others
  }

  /// Works on a job that is delivered for the first time.
  func work(on delivery: Delivery) async {
    await processor.process(delivery)
    marks.gate.leave()
    inFlight.end()
  }

  /// - Returns: the deliveries that went back to the queue, by us or with their channel.
  private func workOff(_ step: MarkedStep) async -> Set<DeliveryTag> {
    let notes = processor.parts.requeueNotes
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
    case .group, .alone: await processor.process(delivery)
    case .bury: await processor.bury(delivery, .crashed)
    case .leave: processor.parts.source.reject(delivery.tag, requeue: false)
    }
  }
}
