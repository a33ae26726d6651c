import CountersignAMQP
import CountersignMessages

extension Envelope {
  /// The envelope of a delivery, whose body may have been too large to keep.
  init(_ delivery: Delivery) throws(ContractProblem) {
    guard !delivery.isOversize else {
      throw ContractProblem(.bodyTooLarge, "the body is larger than \(MessageLimits.maxBodyBytes) bytes")
    }
    try self.init(delivery.message)
  }
}
