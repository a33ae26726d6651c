import CountersignAMQP
import CrashMarks

extension BatchPipeline {
  /// Processes redelivered messages, a few at a time, under marks that outlive a crash: see ``CrashMarks``.
  ///
  /// - Returns: the other deliveries, which arrive for the first time.
  func workOffRedelivered(_ deliveries: [Delivery]) async -> [Delivery] {
    let redelivered = deliveries.filter(\.isRedelivered)
    if redelivered.isEmpty { return deliveries }
    await withTaskGroup(of: Void.self) { group in
      await marks.admit(redelivered, spawn: { work in group.addTask { await work() } }) { await self.workOff($0) }
    }
    return deliveries.filter { !$0.isRedelivered }
  }

  /// - Returns: the deliveries that are not settled.
  private func workOff(_ step: MarkedStep) async -> Set<DeliveryTag> {
    if step.treatment == .leave {
      for delivery in step.deliveries { source.reject(delivery.tag, requeue: false) }
      return []
    }
    if let batch = await process(step.deliveries, isCrashed: step.treatment == .bury), await publish(batch) {
      return []
    }
    return Set(step.deliveries.map(\.tag))
  }
}
