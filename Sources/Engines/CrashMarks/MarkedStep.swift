public import CountersignAMQP

/// Redelivered messages that are processed together, and their treatment.
public struct MarkedStep: Sendable {
  /// Their treatment.
  public let treatment: MarkTreatment
  /// The messages. One, unless the step is a group.
  public let deliveries: [Delivery]
  let keys: [MessageKey]
  let standings: [MarkStanding]

  /// Number of processes that died of it. For one message.
  public var deaths: Int { standings.map(\.deaths).max() ?? 0 }

  func marks(isAlone: Bool) -> [NewMark] {
    zip(keys, standings).map { NewMark(key: $0, standing: $1, isAlone: isAlone) }
  }

  func keys(where isIncluded: (Delivery) -> Bool) -> [MessageKey] {
    zip(deliveries, keys).filter { isIncluded($0.0) }.map(\.1)
  }
}
