/// The spread of a set of waiting times.
public struct LatencySummary: Sendable, Hashable {
  /// How many were measured.
  public let count: Int
  /// Milliseconds.
  public let median: Double
  /// Milliseconds.
  public let percentile95: Double
  /// Milliseconds.
  public let percentile99: Double
  /// Milliseconds.
  public let maximum: Double

  /// - Parameter samples: the waiting times; nil when there are none.
  init?(_ samples: [Duration]) {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.map(\.milliseconds).sorted()
    count = sorted.count
    median = Self.percentile(50, of: sorted)
    percentile95 = Self.percentile(95, of: sorted)
    percentile99 = Self.percentile(99, of: sorted)
    maximum = sorted[sorted.count - 1]
  }

  /// Nearest rank: the smallest value that is not less than so many per cent of all.
  private static func percentile(_ percent: Int, of sorted: [Double]) -> Double {
    sorted[max(0, (sorted.count * percent + 99) / 100 - 1)]
  }
}

extension Duration {
  /// In milliseconds, with fractions.
  var milliseconds: Double {
    Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
  }

  /// In seconds, with fractions.
  var inSeconds: Double { milliseconds / 1000 }
}
