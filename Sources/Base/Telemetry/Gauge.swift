import Synchronization

/// A number that goes up and down.
public final class Gauge: MetricSeries {
  private let bits = Atomic<UInt64>(0)

  init() {}

  /// Sets the number.
  public func set(_ value: Double) {
    bits.store(value.bitPattern, ordering: .relaxed)
  }

  /// Adds to the number; a negative amount lowers it.
  public func add(_ amount: Double) {
    var old = bits.load(ordering: .relaxed)
    while true {
      let new = (Double(bitPattern: old) + amount).bitPattern
      let (exchanged, original) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
      if exchanged { return }
      old = original
    }
  }

  /// The number now.
  public var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func render(_ name: String, _ labels: LabelText, into text: inout String) {
    text += "\(name)\(labels.text) \(MetricText.number(value))\n"
  }
}
