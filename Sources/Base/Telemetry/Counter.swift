import Synchronization

/// A number that only grows. Adding to it is one atomic instruction.
public final class Counter: MetricSeries {
  private let count = Atomic<UInt64>(0)

  init() {}

  /// Adds to the counter; it wraps around after 2^64, as rates allow.
  public func increment(by amount: UInt64 = 1) {
    count.wrappingAdd(amount, ordering: .relaxed)
  }

  /// The count so far.
  public var value: UInt64 { count.load(ordering: .relaxed) }

  func render(_ name: String, _ labels: LabelText, into text: inout String) {
    text += "\(name)\(labels.text) \(value)\n"
  }
}
