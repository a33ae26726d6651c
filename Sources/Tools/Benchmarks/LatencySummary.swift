/// Percentiles of a set of latencies, in milliseconds.
public struct LatencySummary: Sendable, Hashable, Encodable {
  /// Number of samples.
  public let count: Int
  /// Half of the samples are not above it.
  public let median: Double
  /// 95 of 100 samples are not above it.
  public let percentile95: Double
  /// 99 of 100 samples are not above it.
  public let percentile99: Double
  /// The longest sample.
  public let maximum: Double

  enum CodingKeys: String, CodingKey {
    case median = "medianMilliseconds"
    case percentile95 = "percentile95Milliseconds"
    case percentile99 = "percentile99Milliseconds"
    case maximum = "maximumMilliseconds"
  }

  /// Summarizes samples. `nil` if there are none.
  init?(_ samples: [Duration]) {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.map(\.milliseconds).sorted()
    count = sorted.count
    median = Self.percentile(50, of: sorted)
    percentile95 = Self.percentile(95, of: sorted)
    percentile99 = Self.percentile(99, of: sorted)
    maximum = sorted[sorted.count - 1]
  }

  /// Nearest-rank percentile: the smallest value that is not below that share of all.
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
