import Synchronization

/// One series of a metric: the numbers under one set of label values.
public protocol MetricSeries: AnyObject, Sendable {}

protocol RenderedSeries: MetricSeries {
  func render(_ name: String, _ labels: LabelText, into text: inout String)
}

extension Counter: RenderedSeries {}
extension Gauge: RenderedSeries {}
extension Histogram: RenderedSeries {}

/// A number that only grows. Adding to it is one atomic instruction.
public final class Counter: MetricSeries {
  private let count = Atomic<UInt64>(0)

  init() {}

  /// Adds to the counter. It wraps around after 2^64, as rates allow.
  public func increment(by amount: UInt64 = 1) {
    count.wrappingAdd(amount, ordering: .relaxed)
  }

  /// The count so far.
  public var value: UInt64 { count.load(ordering: .relaxed) }

  func render(_ name: String, _ labels: LabelText, into text: inout String) {
    text += "\(name)\(labels.text) \(value)\n"
  }
}

/// A number that goes up and down.
public final class Gauge: MetricSeries {
  private let bits = Atomic<UInt64>(0)

  init() {}

  /// Sets the number.
  public func set(_ value: Double) {
    bits.store(value.bitPattern, ordering: .relaxed)
  }

  /// Adds to the number. A negative amount lowers it.
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

/// Counts observations in buckets, for quantiles over many processes.
public final class Histogram: MetricSeries {
  /// Upper bounds, in seconds, that fit what this system waits for: from a commit to a slow provider.
  public static let defaultBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

  private struct State {
    var counts: [UInt64]
    var sum = 0.0
  }

  private let bounds: [Double]
  private let state: Mutex<State>

  init(bounds: [Double]) {
    self.bounds = bounds
    state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
  }

  /// Counts one observation.
  public func observe(_ value: Double) {
    let index = bounds.firstIndex { value <= $0 } ?? bounds.count
    state.withLock {
      $0.counts[index] += 1
      $0.sum += value
    }
  }

  /// Counts one duration, in seconds.
  public func observe(_ duration: Duration) {
    observe(duration.fractionalSeconds)
  }

  /// Number of observations.
  public var count: UInt64 { state.withLock { $0.counts.reduce(0, &+) } }

  /// The sum of all observations.
  public var sum: Double { state.withLock { $0.sum } }

  func render(_ name: String, _ labels: LabelText, into text: inout String) {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    var total: UInt64 = 0
    for (index, count) in counts.enumerated() {
      total += count
      let bound = index < bounds.count ? MetricText.number(bounds[index]) : "+Inf"
      text += "\(name)_bucket\(labels.adding("le", bound)) \(total)\n"
    }
    text += "\(name)_sum\(labels.text) \(MetricText.number(sum))\n"
    text += "\(name)_count\(labels.text) \(total)\n"
  }
}
