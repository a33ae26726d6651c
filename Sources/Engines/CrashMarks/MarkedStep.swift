public import CountersignAMQP
import CountersignConcurrency
import Synchronization

/// Redelivered messages that are processed together, and their treatment.
public struct MarkedStep: Sendable {
  /// Their treatment.
  public let treatment: MarkTreatment
  /// The messages. One, unless the step is a group.
  public let deliveries: [Delivery]
  let keys: [MessageKey]
  let standings: [MarkStanding]
  let place: StepPlace

  /// Lets the next step begin while the rest of this one goes on, under its mark. At its end it passes by itself.
  public func pass() { place.leave() }

  /// Number of processes that died of it. For one message.
  public var deaths: Int { standings.map(\.deaths).max() ?? 0 }

  func marks(isAlone: Bool) -> [NewMark] {
    zip(keys, standings).map { NewMark(key: $0, standing: $1, isAlone: isAlone) }
  }

  func keys(where isIncluded: (Delivery) -> Bool) -> [MessageKey] {
    zip(deliveries, keys).filter { isIncluded($0.0) }.map(\.1)
  }
}

/// Place of a step among those that are processed at once, left once.
final class StepPlace: Sendable {
  private let window: Window
  private let isLeft = Atomic(false)

  init(in window: Window) {
    self.window = window
  }

  func leave() {
    if !isLeft.exchange(true, ordering: .relaxed) { window.leave() }
  }
}
