import Synchronization

/// A metric with labels: one series for each set of label values.
public final class MetricFamily<Series: MetricSeries>: Sendable {
  /// The metric's name.
  public let name: String
  /// The names of its labels.
  public let labels: [String]
  let help: String
  private let make: @Sendable () -> Series
  private let series = Mutex<[[String]: Series]>([:])

  /// The label value of the series that takes what does not fit, see ``MetricsRegistry/maxSeries``.
  public static var overflowValue: String { "other" }

  init(name: String, help: String, labels: [String], make: @escaping @Sendable () -> Series) {
    self.name = name
    self.help = help
    self.labels = labels
    self.make = make
  }

  /// The series of these label values; it is made when there is none. Hot paths keep it instead of asking again.
  ///
  /// - Parameter values: one for each label, in the order of `labels`. A label's values must be few: never an ID or a
  ///   phone number. When there are ``MetricsRegistry/maxSeries`` series, new values go to one whose values are all `other`.
  public func with(_ values: String...) -> Series {
    precondition(values.count == labels.count, "\(name) has the labels \(labels)")
    return series.withLock { series in
      if let known = series[values] { return known }
      let isFull = series.count >= MetricsRegistry.maxSeries
      let key = isFull ? labels.map { _ in Self.overflowValue } : values
      if let known = series[key] { return known }
      let new = make()
      series[key] = new
      return new
    }
  }

  func sorted() -> [(values: [String], series: Series)] {
    series.withLock { $0 }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
      .map { (values: $0.key, series: $0.value) }
  }
}
